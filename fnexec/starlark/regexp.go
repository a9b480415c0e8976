package starlark

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// reModule provides re.findall, match, search, split and sub, with a pattern as the first
// argument, and re.compile, which returns an object with the same functions. Patterns are Go's
// (RE2), whose time is linear in the text.
func reModule() *starlarkstruct.Module {
	members := map[string]builtin{"compile": reCompile}
	for name, f := range reFuncs() {
		members[name] = func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			re, args, kwargs, err := takePattern(b.Name(), args, kwargs)
			if err != nil {
				return nil, err
			}
			return f(re, b.Name(), args, kwargs)
		}
	}
	return module("re", members)
}

// reFunc is a function of a compiled pattern.
type reFunc func(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

func reFuncs() map[string]reFunc {
	return map[string]reFunc{"findall": reFindall, "match": reMatch, "search": reSearch, "split": reSplit, "sub": reSub}
}

// takePattern compiles the pattern, which is the first argument or a keyword argument.
func takePattern(name string, args starlark.Tuple, kwargs []starlark.Tuple) (*regexp.Regexp, starlark.Tuple, []starlark.Tuple, error) {
	var v starlark.Value
	if len(args) > 0 {
		v, args = args[0], args[1:]
	} else {
		var rest []starlark.Tuple
		for _, kv := range kwargs {
			if kv[0] == starlark.String("pattern") {
				v = kv[1]
				continue
			}
			rest = append(rest, kv)
		}
		kwargs = rest
	}
	pattern, ok := starlark.AsString(v)
	if v == nil || !ok {
		return nil, nil, nil, fmt.Errorf("%s: the pattern must be a string", name)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return re, args, kwargs, nil
}

func reCompile(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	re, args, _, err := takePattern(b.Name(), args, kwargs)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("%s: one argument is expected", b.Name())
	}
	members := map[string]builtin{}
	for name, f := range reFuncs() {
		members[name] = func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return f(re, b.Name(), args, kwargs)
		}
	}
	return module("pattern", members), nil
}

func reFindall(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var flags int
	if err := starlark.UnpackArgs(name, args, kwargs, "text", &text, "flags?", &flags); err != nil {
		return nil, err
	}
	found, err := matches(re, text, -1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []starlark.Value
	for _, at := range found {
		switch m := parts(text, at); len(m) {
		case 1:
			out = append(out, starlark.String(m[0]))
		case 2:
			out = append(out, starlark.String(m[1]))
		default:
			out = append(out, tuple(m[1:]))
		}
	}
	return starlark.NewList(out), nil
}

// matches returns the places of at most n matches and their groups, of all for -1.
func matches(re *regexp.Regexp, text string, n int) ([][]int, error) {
	most := maxElems / (re.NumSubexp() + 1)
	if n < 0 || n > most {
		n = most + 1
	}
	found := re.FindAllStringSubmatchIndex(text, n)
	if len(found) > most {
		return nil, errTooMany
	}
	return found, nil
}

// parts returns a match and its groups, "" for a group that is not in the match.
func parts(text string, at []int) []string {
	out := make([]string, 0, len(at)/2)
	for i := 0; i < len(at); i += 2 {
		part := ""
		if at[i] >= 0 {
			part = text[at[i]:at[i+1]]
		}
		out = append(out, part)
	}
	return out
}

// reMatch matches at the beginning, reSearch anywhere. They return the match and its groups, or
// None.
func reMatch(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var flags int
	if err := starlark.UnpackArgs(name, args, kwargs, "string", &text, "flags?", &flags); err != nil {
		return nil, err
	}
	anchored, err := regexp.Compile(`\A(?:` + re.String() + `)`)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return groups(anchored, text), nil
}

func reSearch(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var flags int
	if err := starlark.UnpackArgs(name, args, kwargs, "string", &text, "flags?", &flags); err != nil {
		return nil, err
	}
	return groups(re, text), nil
}

func groups(re *regexp.Regexp, text string) starlark.Value {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return starlark.None
	}
	return tuple(m)
}

func reSplit(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var maxsplit, flags int
	if err := starlark.UnpackArgs(name, args, kwargs, "text", &text, "maxsplit?", &maxsplit, "flags?", &flags); err != nil {
		return nil, err
	}
	n := maxElems + 1
	if maxsplit > 0 {
		n = min(maxsplit, maxElems) + 1
	}
	split := re.Split(text, n)
	if len(split) > maxElems {
		return nil, fmt.Errorf("%s: %w", name, errTooMany)
	}
	return starlark.NewList(tuple(split)), nil
}

// reSub replaces matches. \1 and $1 in the replacement are groups.
func reSub(re *regexp.Regexp, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var repl, text string
	var count, flags int
	if err := starlark.UnpackArgs(name, args, kwargs, "repl", &repl, "text", &text, "count?", &count, "flags?", &flags); err != nil {
		return nil, err
	}
	repl = regexp.MustCompile(`\\([0-9])`).ReplaceAllString(repl, "$${$1}")
	if count <= 0 {
		count = -1
	}
	found, err := matches(re, text, count)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []byte
	at := 0
	for _, m := range found {
		// Each $ of the replacement may be as long as the match.
		if len(out)+len(repl)+strings.Count(repl, "$")*(m[1]-m[0]) > maxText+len(text) {
			return nil, fmt.Errorf("%s: %w", name, errTooLong)
		}
		out = append(out, text[at:m[0]]...)
		out = re.ExpandString(out, repl, text, m)
		at = m[1]
	}
	if len(out)+len(text)-at > max(maxText, len(text)) {
		return nil, fmt.Errorf("%s: %w", name, errTooLong)
	}
	return starlark.String(append(out, text[at:]...)), nil
}

func tuple(s []string) starlark.Tuple {
	t := make(starlark.Tuple, 0, len(s))
	for _, e := range s {
		t = append(t, starlark.String(e))
	}
	return t
}
