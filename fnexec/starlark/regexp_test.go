package starlark

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

// TestManyMatches checks that all matches are found in several rounds, and that no further round
// begins when the call has ended.
func TestManyMatches(t *testing.T) {
	t.Parallel()
	const n = 10 * firstMatches
	p, text := &pattern{regexp.MustCompile("a(b)")}, starlark.String(strings.Repeat("ab", n))
	for method, args := range map[string]starlark.Tuple{
		"findall": {text}, "match": {text}, "split": {text}, "sub": {starlark.String("cd"), text},
	} {
		over := false
		thread := &starlark.Thread{}
		thread.SetLocal(endedKey, func() bool { return over })
		v, err := p.call(thread, call{method, method, args, nil})
		want := n
		switch method {
		case "split":
			want = n + 1
		case "sub":
			want = 2 * n
		}
		if err != nil || starlark.Len(v) != want {
			t.Errorf("%s: got %d, want %d: %v", method, starlark.Len(v), want, err)
		}
		over = true
		if _, err := p.call(thread, call{method, method, args, nil}); !errors.Is(err, errEnded) {
			t.Errorf("%s: got %v where the call has ended", method, err)
		}
	}
}

// FuzzPatterns compares the functions of re with Go's, which have no bounds.
func FuzzPatterns(f *testing.F) {
	for _, s := range [][3]string{{"a*", "baac", "<$0>"}, {"", "é\xff", "-"}, {"^a|b", "ab", "$$"}, {"(a)(?P<n>b)?", "ab", "${n}$1"}, {`\b`, "a b", "|"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, expr, text, repl string) {
		re, err := regexp.Compile(expr)
		if err != nil || len(text)+len(repl) > 1000 {
			return
		}
		p, thread := &pattern{re}, &starlark.Thread{}
		if v, err := p.sub(thread, repl, text); err != nil || v != starlark.String(re.ReplaceAllString(text, repl)) {
			t.Errorf("sub: got %v, %v", v, err)
		}
		for parts := range 4 {
			n := parts
			if n == 0 {
				n = -1
			}
			v, err := p.split(thread, text, starlark.MakeInt(parts))
			if err != nil || v.String() != tuple(re.Split(text, n)).String() {
				t.Errorf("split in %d: got %v, %v", parts, v, err)
			}
		}
		if v, err := p.findall(thread, text); err != nil || v.String() != tuple(re.FindAllString(text, -1)).String() {
			t.Errorf("findall: got %v, %v", v, err)
		}
	})
}
