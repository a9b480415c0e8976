package starlark

import (
	"fmt"
	"iter"
	"strings"

	starjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

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

// jsonEncode and its sibling refuse what is nested so deeply that the library, which
// recurses, would exhaust the process's stack.
func jsonEncode(name string) *starlark.Builtin {
	return weighed(starjson.Module.Members[name], "json."+name)
}
