package starlark

import (
	"errors"
	"fmt"
	"strings"

	starmath "go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// predeclaredKey is where a thread keeps what every file of its script knows.
const predeclaredKey = "krmcat.predeclared"

// modules loads the files of one run, each once.
type modules struct {
	programs map[string]*program
	loaded   map[string]starlark.StringDict
}

func (m *modules) load(t *starlark.Thread, name string) (starlark.StringDict, error) {
	if b, ok := builtinModule(name); ok {
		return b, nil
	}
	if globals, ok := m.loaded[name]; ok {
		if globals == nil {
			return nil, errors.New("it loads itself")
		}
		return globals, nil
	}
	prog := m.programs[name]
	if prog == nil {
		return nil, errNoModule
	}
	if m.loaded == nil {
		m.loaded = map[string]starlark.StringDict{}
	}
	m.loaded[name] = nil
	names, _ := t.Local(predeclaredKey).(starlark.StringDict)
	globals, err := prog.Init(t, names)
	if err != nil {
		return nil, err
	}
	for _, v := range globals {
		// Freezing is recursive.
		if err := weighFrozen(v); err != nil {
			return nil, err
		}
	}
	globals.Freeze()
	m.loaded[name] = globals
	return globals, nil
}

// builtinModule returns a module by the name that scripts of kpt and kyaml load, with or without
// .star. It has one member, of the same name.
func builtinModule(name string) (starlark.StringDict, bool) {
	var make func() *starlarkstruct.Module
	switch strings.TrimSuffix(name, ".star") {
	case "encoding/json", "json":
		make = jsonModule
	case "encoding/yaml", "yaml":
		make = yamlModule
	case "encoding/csv", "csv":
		make = csvModule
	case "encoding/base64", "base64":
		make = base64Module
	case "math":
		make = func() *starlarkstruct.Module { return starmath.Module }
	case "time":
		make = timeModule
	case "re":
		make = reModule
	case "hash":
		make = hashModule
	case "krmfn":
		make = krmfnModule
	default:
		return nil, false
	}
	m := make()
	return starlark.StringDict{m.Name: m}, true
}

// builtin is the type of a module's functions.
type builtin func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

func module(name string, members map[string]builtin) *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}
	for n, f := range members {
		m.Members[n] = starlark.NewBuiltin(name+"."+n, sized(f))
	}
	return m
}

// sized refuses a string that a function made too long.
func sized(f builtin) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := f(t, b, args, kwargs)
		if err != nil {
			return nil, err
		}
		if err := checkSize(v, starlark.Len(v)); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return v, nil
	}
}
