package starlark

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
)

// native converts values as starlib 0.5 does before it prints them as YAML or in a cell of CSV.
type native struct {
	size  int // an upper bound on the length of the values as YAML
	taken int
	open  map[starlark.Value]bool // values that are being converted
}

// toNative returns a value of Go. It refuses a value that would be too long as YAML.
func toNative(v starlark.Value) (any, error) {
	return (&native{open: map[starlark.Value]bool{}}).value(v, 0)
}

func (c *native) value(v starlark.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if c.taken++; c.taken > maxNodes {
		return nil, fmt.Errorf("it holds more than %d values", maxNodes)
	}
	if c.size += 32 + 2*depth; c.size > maxText {
		return nil, errTooLong
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil //nolint:nilnil // it is the value
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		return smallInt(v)
	case starlark.Float:
		return float64(v), nil
	case starlark.String:
		return string(v), c.text(string(v), depth)
	case startime.Time:
		return time.Time(v), nil
	case starlark.Tuple:
		return c.list(v, depth)
	case *starlark.List:
		defer delete(c.open, v)
		if err := c.enter(v); err != nil {
			return nil, err
		}
		return c.list(v, depth)
	case *starlark.Dict:
		defer delete(c.open, v)
		if err := c.enter(v); err != nil {
			return nil, err
		}
		return c.dict(v, depth)
	case *starlark.Set:
		return nil, errors.New("sets aren't yet supported")
	}
	return nil, fmt.Errorf("unrecognized starlark type: %s", v.Type())
}

func smallInt(v starlark.Int) (int, error) {
	var i int
	if bits(v) > 1000 { // the library would print it in the error
		return 0, errors.New("an integer is out of range (want value in signed 64-bit range)")
	}
	err := starlark.AsInt(v, &i)
	return i, err
}

// text counts a text. A character may become \U0001F600, and each space a line with indents.
func (c *native) text(s string, depth int) error {
	c.size += printed(s) + len(s)*3/2 + (strings.Count(s, " ")+strings.Count(s, "\n"))*2*(depth+1)
	if c.size > maxText {
		return errTooLong
	}
	return nil
}

func (c *native) enter(v starlark.Value) error {
	if c.open[v] {
		return fmt.Errorf("a %s contains itself", v.Type())
	}
	c.open[v] = true
	return nil
}

func (c *native) list(v starlark.Indexable, depth int) (any, error) {
	out := make([]any, 0, v.Len())
	for i := range v.Len() {
		e, err := c.value(v.Index(i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (c *native) dict(v *starlark.Dict, depth int) (any, error) {
	out, texts := make(map[any]any, v.Len()), make(map[string]any, v.Len())
	for k, e := range v.Entries() {
		key, err := c.value(k, depth+1)
		if err != nil {
			return nil, err
		}
		value, err := c.value(e, depth+1)
		if err != nil {
			return nil, err
		}
		if key != nil && !reflect.TypeOf(key).Comparable() {
			return nil, fmt.Errorf("a key is a %s", k.Type())
		}
		out[key] = value
		if text, ok := key.(string); ok {
			texts[text] = value
		}
	}
	if len(texts) == len(out) {
		return texts, nil // keys of other types are sorted otherwise
	}
	return out, nil
}
