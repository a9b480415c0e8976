package starlark_test

import (
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec/starlark"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string][]byte
		want  string // "" for no error
	}{
		"good":                       {map[string][]byte{"a.star": []byte(`load("b.star", "x")`), "b.star": []byte("x = 1")}, ""},
		"broken":                     {map[string][]byte{"a.star": []byte("x = 1\ndef (")}, "a.star:2:6: "},
		"unknown":                    {map[string][]byte{"a.star": []byte("nobody()\nelse_()")}, "a.star:2:1: undefined: else_"},
		"loaded":                     {map[string][]byte{"a.star": []byte(`load("b.star", "x")`), "b.star": []byte("(")}, "b.star:1:2: "},
		"beside":                     {map[string][]byte{"a.star": nil, "b.star": []byte("(")}, "b.star:1:2: "},
		"missing":                    {map[string][]byte{"a.star": []byte(`load("b.star", "x")`)}, `a.star:1:6: load("b.star"): `},
		"defines":                    {map[string][]byte{"a.star": []byte("def f():\n  ctx.resource_list.clear()\n")}, "a.star: it only defines functions and calls none"},
		"only defines, in two files": {map[string][]byte{"a.star": []byte("\"\"\"doc\"\"\"\nload(\"b.star\", \"g\")\nx = [1]\nf = lambda: g()"), "b.star": []byte("def g(): pass")}, "a.star: it only defines functions and calls none"},
		"calls":                      {map[string][]byte{"a.star": []byte("def f():\n  pass\nf()")}, ""},
		"calls in a value":           {map[string][]byte{"a.star": []byte("def f():\n  pass\n_ = f()")}, ""},
		"calls by default":           {map[string][]byte{"a.star": []byte("def f(): pass\ndef g(x=f()): pass")}, ""},
		"sets":                       {map[string][]byte{"a.star": []byte("def f(): pass\nctx.resource_list[\"items\"] = []")}, ""},
		"extends":                    {map[string][]byte{"a.star": []byte("f = lambda: 1\nx = ctx.resource_list[\"items\"]\nx += []")}, ""},
		"loops":                      {map[string][]byte{"a.star": []byte("def f(): pass\nfor x in []:\n  pass")}, ""},
		"calls in a loaded file":     {map[string][]byte{"a.star": []byte("load(\"b.star\", \"x\")\ndef f(): pass"), "b.star": []byte("x = list()")}, ""},
		"only definitions in a file that is not loaded": {map[string][]byte{"a.star": []byte("x = 1"), "b.star": []byte("def f(): pass")}, ""},
		"circle": {map[string][]byte{"a.star": []byte(`load("a.star", "x")`)}, ""}, // found when it runs
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := starlark.Check("a.star", test.files)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
