package starlark

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	starjson "go.starlark.net/lib/json"
	starmath "go.starlark.net/lib/math"
	startime "go.starlark.net/lib/time"
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
		if _, err := weigh(v); err != nil {
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

// jsonModule returns the library's module with guards, and also with the older names.
func jsonModule() *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: "json", Members: starlark.StringDict{}}
	for n, v := range starjson.Module.Members {
		m.Members[n] = v
	}
	decode := starlark.NewBuiltin("json.decode", jsonDecode)
	m.Members["decode"], m.Members["loads"] = decode, decode
	encode := jsonEncode("encode")
	m.Members["encode"], m.Members["dumps"] = encode, encode
	m.Members["encode_indent"] = starlark.NewBuiltin("json.encode_indent", jsonEncodeIndent)
	m.Members["indent"] = starlark.NewBuiltin("json.indent", jsonIndent)
	return m
}

// jsonDecode refuses input that is too large, or nested too deeply for the library, which recurses
// and would exhaust the stack.
func jsonDecode(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	texts := args
	for _, kv := range kwargs {
		texts = append(texts[:len(texts):len(texts)], kv[1])
	}
	for _, v := range texts {
		s, _ := starlark.AsString(v)
		if err := checkJSON(s); err != nil {
			return nil, fmt.Errorf("json.decode: %w", err)
		}
	}
	return starlark.Call(t, starjson.Module.Members["decode"], args, kwargs)
}

// jsonEncodeIndent is the library's function with the bounds of encode and of indent.
func jsonEncodeIndent(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	text, err := starlark.Call(t, jsonEncode("encode"), args, nil)
	if err == nil {
		err = checkIndent(text, kwargs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.Call(t, starjson.Module.Members["encode_indent"], args, kwargs)
}

// jsonIndent is the library's function with a bound.
func jsonIndent(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, text := range args {
		if err := checkIndent(text, kwargs); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	return starlark.Call(t, starjson.Module.Members["indent"], args, kwargs)
}

// checkIndent refuses JSON that would be too long with a prefix and indents in each line.
func checkIndent(text starlark.Value, kwargs []starlark.Tuple) error {
	s, _ := starlark.AsString(text)
	prefix, indent := 0, 1 // a tab
	for _, kv := range kwargs {
		switch n := max(starlark.Len(kv[1]), 0); kv[0] {
		case starlark.String("prefix"):
			prefix = n
		case starlark.String("indent"):
			indent = n
		}
	}
	size := len(s)
	for c, depth := range unquoted(s) {
		if !strings.ContainsRune("[]{},", rune(c)) {
			continue
		}
		if size += 2 + prefix + depth*indent; size > maxText {
			return errTooLong
		}
	}
	return nil
}

// checkJSON refuses JSON with too many values, or too long numbers.
func checkJSON(s string) error {
	values, digits := 0, 0
	for c, depth := range unquoted(s) {
		if depth > maxDepth {
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		}
		if c >= '0' && c <= '9' {
			digits++
		} else {
			digits = 0
		}
		if digits > maxDigits {
			return errTooWide
		}
		if c == ',' || c == '[' || c == '{' {
			values++
		}
		if values > maxElems {
			return errTooMany
		}
	}
	return nil
}

// unquoted yields the bytes of JSON that are not in a string, each with the depth after it.
func unquoted(s string) iter.Seq2[byte, int] {
	return func(yield func(byte, int) bool) {
		depth, quoted := 0, false
		for i := 0; i < len(s); i++ {
			c := s[i]
			switch {
			case quoted && c == '\\':
				i++
				continue
			case c == '"':
				quoted = !quoted
				continue
			case quoted:
				continue
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth = max(depth-1, 0)
			}
			if !yield(c, depth) {
				return
			}
		}
	}
}

// timeModule returns the library's module without the clock, so that the same input always gives
// the same output.
func timeModule() *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: "time", Members: starlark.StringDict{}}
	for n, v := range startime.Module.Members {
		m.Members[n] = v
	}
	m.Members["now"] = starlark.NewBuiltin("time.now", noClock)
	return m
}

func noClock(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return nil, errors.New("time.now: a function has no clock, so that its output can be reproduced")
}
