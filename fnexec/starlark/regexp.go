package starlark

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// firstMatches is the number of matches that a function of re looks for at first. It then looks
// for four times as many, and so on: the time of all matches can be quadratic in the text, and
// between two rounds the function sees whether the call has ended.
const firstMatches = 1 << 10

// endedKey is where a thread keeps a func() bool that reports whether its call has ended.
const endedKey = "krmcat.ended"

var errEnded = errors.New("the call has ended")

// ended reports whether the call of a script has ended, for builtins that take long.
func ended(t *starlark.Thread) bool {
	f, ok := t.Local(endedKey).(func() bool)
	return ok && f()
}

// reModule provides re.compile, findall, match, search, split and sub. They answer as those of
// starlib 0.5 do, which kpt's function has, and not as Python's: match finds all matches, split
// and findall return tuples, sub has no count and knows groups as $1. Patterns are Go's (RE2).
func reModule() *starlarkstruct.Module {
	members := map[string]builtin{"compile": reCompile}
	for _, name := range patternMethods() {
		members[name] = func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			p, args, kwargs, err := takePattern(b.Name(), args, kwargs)
			if err != nil {
				return nil, err
			}
			return p.call(t, call{name, b.Name(), args, kwargs})
		}
	}
	return module("re", members)
}

// takePattern compiles the pattern, which is the first argument or a keyword argument.
func takePattern(name string, args starlark.Tuple, kwargs []starlark.Tuple) (*pattern, starlark.Tuple, []starlark.Tuple, error) {
	var v starlark.String
	var first starlark.Tuple
	var named, rest []starlark.Tuple
	if len(args) > 0 {
		first, args, rest = args[:1], args[1:], kwargs
	} else {
		for _, kv := range kwargs {
			if kv[0] == starlark.String("pattern") {
				named = append(named, kv)
			} else {
				rest = append(rest, kv)
			}
		}
	}
	if err := starlark.UnpackArgs(name, first, named, "pattern", &v); err != nil {
		return nil, nil, nil, err
	}
	re, err := regexp.Compile(string(v))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return &pattern{re}, args, rest, nil
}

func reCompile(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.String
	var flags starlark.Int
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &v, "flags?", &flags); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(string(v))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return &pattern{re}, nil
}

// pattern is what re.compile returns.
type pattern struct{ re *regexp.Regexp }

func patternMethods() []string { return []string{"findall", "match", "search", "split", "sub"} }

// String implements starlark.Value.
func (p *pattern) String() string { return p.re.String() }

// Type implements starlark.Value.
func (p *pattern) Type() string { return "regexp" }

// Freeze implements starlark.Value.
func (p *pattern) Freeze() {}

// Truth implements starlark.Value.
func (p *pattern) Truth() starlark.Bool { return p.re.String() != "" }

// Hash implements starlark.Value.
func (p *pattern) Hash() (uint32, error) { return starlark.String(p.re.String()).Hash() }

// AttrNames implements starlark.HasAttrs.
func (p *pattern) AttrNames() []string { return patternMethods() }

// Attr implements starlark.HasAttrs.
func (p *pattern) Attr(name string) (starlark.Value, error) {
	if !slices.Contains(patternMethods(), name) {
		return nil, nil //nolint:nilnil // that is how there is none
	}
	return starlark.NewBuiltin(name, sized(func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return p.call(t, call{name, b.Name(), args, kwargs})
	})), nil
}

// call is a call of a method of a pattern.
type call struct {
	method, name string // name is for errors
	args         starlark.Tuple
	kwargs       []starlark.Tuple
}

// call unpacks the arguments of a method, and calls it. flags have no meaning, and neither has
// count: so it is in starlib.
func (p *pattern) call(t *starlark.Thread, c call) (starlark.Value, error) {
	var repl, text starlark.String
	var number, flags starlark.Int
	params := []any{"string", &text, "flags?", &flags}
	switch c.method {
	case "split":
		params = []any{"string", &text, "maxsplit?", &number, "flags", &flags}
	case "sub":
		params = []any{"repl", &repl, "string", &text, "count?", &number, "flags", &flags}
	}
	if err := starlark.UnpackArgs(c.name, c.args, c.kwargs, params...); err != nil {
		return nil, err
	}
	var v starlark.Value
	var err error
	switch c.method {
	case "findall":
		v, err = p.findall(t, string(text))
	case "match":
		v, err = p.match(t, string(text))
	case "search":
		v = p.search(string(text))
	case "split":
		v, err = p.split(t, string(text), number)
	case "sub":
		v, err = p.sub(t, string(repl), string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return v, nil
}

// findall returns a tuple of all matches, without their groups.
func (p *pattern) findall(t *starlark.Thread, text string) (starlark.Value, error) {
	found, err := rounds(t, maxElems, func(n int) [][]int { return p.re.FindAllStringIndex(text, n) })
	out := make(starlark.Tuple, 0, len(found))
	for _, at := range found {
		out = append(out, starlark.String(text[at[0]:at[1]]))
	}
	return out, err
}

// match returns a list of all matches anywhere in the text, each a tuple of the match and its
// groups.
func (p *pattern) match(t *starlark.Thread, text string) (starlark.Value, error) {
	found, err := p.groups(t, text)
	out := make([]starlark.Value, 0, len(found))
	for _, at := range found {
		parts := make(starlark.Tuple, 0, len(at)/2)
		for i := 0; i < len(at); i += 2 {
			part := ""
			if at[i] >= 0 {
				part = text[at[i]:at[i+1]]
			}
			parts = append(parts, starlark.String(part))
		}
		out = append(out, parts)
	}
	return starlark.NewList(out), err
}

// search returns the offsets of the first match, or None.
func (p *pattern) search(text string) starlark.Value {
	at := p.re.FindStringIndex(text)
	if at == nil {
		return starlark.None
	}
	return starlark.NewList([]starlark.Value{starlark.MakeInt(at[0]), starlark.MakeInt(at[1])})
}

// split returns a tuple of what is between the matches, at most so many parts unless the number
// is 0 or less.
func (p *pattern) split(t *starlark.Thread, text string, parts starlark.Int) (starlark.Value, error) {
	most := maxElems + 1
	if n, _ := parts.Int64(); n > 0 {
		most = int(min(n, maxElems))
	}
	for n := min(firstMatches, most); ; n = min(4*n, most) {
		found := p.re.Split(text, n)
		switch {
		case len(found) > maxElems:
			return nil, errTooMany
		case len(found) == n && n < most && ended(t):
			return nil, errEnded
		case len(found) < n || n == most:
			return tuple(found), nil
		}
	}
}

// sub replaces all matches. $1 in the replacement is a group.
func (p *pattern) sub(t *starlark.Thread, repl, text string) (starlark.Value, error) {
	found, err := p.groups(t, text)
	if err != nil {
		return nil, err
	}
	var out []byte
	at := 0
	for _, m := range found {
		// Each $ of the replacement may be as long as the match.
		if len(out)+len(repl)+strings.Count(repl, "$")*(m[1]-m[0]) > maxText+len(text) {
			return nil, errTooLong
		}
		out = append(out, text[at:m[0]]...)
		out = p.re.ExpandString(out, repl, text, m)
		at = m[1]
	}
	if len(out)+len(text)-at > max(maxText, len(text)) {
		return nil, errTooLong
	}
	return starlark.String(append(out, text[at:]...)), nil
}

// groups returns the places of all matches and of their groups.
func (p *pattern) groups(t *starlark.Thread, text string) ([][]int, error) {
	return rounds(t, maxElems/(p.re.NumSubexp()+1), func(n int) [][]int {
		return p.re.FindAllStringSubmatchIndex(text, n)
	})
}

// rounds returns all that find can find, in several rounds.
func rounds(t *starlark.Thread, most int, find func(n int) [][]int) ([][]int, error) {
	for n := firstMatches; ; n = min(4*n, most+1) {
		found := find(n)
		switch {
		case len(found) > most:
			return nil, errTooMany
		case len(found) < n:
			return found, nil
		case ended(t):
			return nil, errEnded
		}
	}
}

func tuple(texts []string) starlark.Tuple {
	out := make(starlark.Tuple, 0, len(texts))
	for _, s := range texts {
		out = append(out, starlark.String(s))
	}
	return out
}
