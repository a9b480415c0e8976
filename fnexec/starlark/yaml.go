package starlark

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	yamlv2 "go.yaml.in/yaml/v2"
)

// maxYAML bounds the text that yaml.loads reads: the library needs fifty times as much memory.
const maxYAML = 8 << 20

// yamlModule provides yaml.loads(source) for one document (also as decode), and yaml.dumps(source)
// (also as encode). They use the library that starlib uses, so that `yes` is True and keys are
// sorted as there.
func yamlModule() *starlarkstruct.Module {
	return module("yaml", map[string]builtin{
		"loads": yamlLoads, "decode": yamlLoads,
		"dumps": yamlDumps, "encode": yamlDumps,
	})
}

func yamlLoads(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source); err != nil {
		return nil, err
	}
	if len(source) > maxYAML {
		return nil, fmt.Errorf("%s: the text is longer than %d bytes", b.Name(), maxYAML)
	}
	var v any
	var order ordered
	err := yamlv2.Unmarshal([]byte(source), &v)
	if err == nil {
		err = yamlv2.Unmarshal([]byte(source), &order)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	out, err := (&loaded{}).value(v, order.value, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return out, nil
}

// ordered is a document with MapSlices in the place of maps. They say in which order the keys are
// written, but not what a merge key means.
type ordered struct{ value any }

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *ordered) UnmarshalYAML(read func(any) error) error {
	var mapping yamlv2.MapSlice
	if read(&mapping) == nil {
		o.value = mapping
		return nil
	}
	var list []ordered
	if read(&list) == nil {
		values := make([]any, 0, len(list))
		for _, e := range list {
			values = append(values, e.value)
		}
		o.value = values
	}
	return nil // a scalar has no order
}

// loaded converts values of Go into Starlark values.
type loaded struct{ taken int }

// value converts a value; order is the same value with MapSlices, as far as it is known.
func (c *loaded) value(v, order any, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if c.taken++; c.taken > maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
	}
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	case float64:
		return starlark.Float(v), nil
	case time.Time:
		return startime.Time(v), nil
	case []any:
		known, _ := order.([]any)
		elems := make([]starlark.Value, 0, len(v))
		for i, e := range v {
			var of any
			if i < len(known) {
				of = known[i]
			}
			elem, err := c.value(e, of, depth+1)
			if err != nil {
				return nil, err
			}
			elems = append(elems, elem)
		}
		return starlark.NewList(elems), nil
	case map[any]any:
		known, _ := order.(yamlv2.MapSlice)
		return c.dict(v, known, depth)
	}
	return nil, fmt.Errorf("a value of type %T is not known", v)
}

// dict converts a map. Keys that come from a merge key are last, sorted.
func (c *loaded) dict(m map[any]any, known yamlv2.MapSlice, depth int) (starlark.Value, error) {
	order := make(map[any]any, len(known))
	keys := make([]any, 0, len(m))
	for _, item := range known {
		if _, ok := m[item.Key]; !ok {
			continue
		}
		if _, twice := order[item.Key]; !twice {
			keys = append(keys, item.Key)
		}
		order[item.Key] = item.Value
	}
	merged := make([]any, 0, len(m)-len(keys))
	for k := range m {
		if _, ok := order[k]; !ok {
			merged = append(merged, k)
		}
	}
	slices.SortFunc(merged, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	d := starlark.NewDict(len(m))
	for _, k := range append(keys, merged...) {
		key, err := c.value(k, nil, depth+1)
		if err != nil {
			return nil, err
		}
		value, err := c.value(m[k], order[k], depth+1)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(key, value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func yamlDumps(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var source starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "source", &source); err != nil {
		return nil, err
	}
	v, err := toNative(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	text, err := yamlv2.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.String(text), nil
}
