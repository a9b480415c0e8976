package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// krmfnModule provides match_gvk(resource, apiVersion, kind), match_name(resource, name) and
// match_namespace(resource, namespace), which kpt's function has beside starlib.
func krmfnModule() *starlarkstruct.Module {
	return module("krmfn", map[string]builtin{
		"match_gvk":       matches([]string{"apiVersion"}, []string{"kind"}),
		"match_name":      matches([]string{"metadata", "name"}),
		"match_namespace": matches([]string{"metadata", "namespace"}),
	})
}

// matches returns a function of a resource and the text of each field.
func matches(fields ...[]string) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var resource *starlark.Dict
		texts := make([]string, len(fields))
		params := []any{&resource}
		for i := range texts {
			params = append(params, &texts[i])
		}
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, len(params), params...); err != nil {
			return nil, err
		}
		for i, path := range fields {
			got, err := textAt(resource, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", b.Name(), err)
			}
			if got != texts[i] {
				return starlark.False, nil
			}
		}
		return starlark.True, nil
	}
}

// textAt returns a text in a dict, "" for none.
func textAt(v starlark.Value, path []string) (string, error) {
	for _, name := range path {
		d, ok := v.(*starlark.Dict)
		if !ok {
			return "", nil
		}
		next, found, err := d.Get(starlark.String(name))
		if err != nil || !found {
			return "", err
		}
		v = next
	}
	s, _ := starlark.AsString(v)
	return s, nil
}
