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
		want  string // "" where nothing is wrong
	}{
		"good":    {map[string][]byte{"a.star": []byte(`load("b.star", "x")`), "b.star": []byte("x = 1")}, ""},
		"broken":  {map[string][]byte{"a.star": []byte("x = 1\ndef (")}, "a.star:2:6: "},
		"unknown": {map[string][]byte{"a.star": []byte("nobody()\nelse_()")}, "a.star:2:1: undefined: else_"},
		"loaded":  {map[string][]byte{"a.star": []byte(`load("b.star", "x")`), "b.star": []byte("(")}, "b.star:1:2: "},
		"beside":  {map[string][]byte{"a.star": nil, "b.star": []byte("(")}, "b.star:1:2: "},
		"missing": {map[string][]byte{"a.star": []byte(`load("b.star", "x")`)}, `a.star:1:6: load("b.star"): `},
		"circle":  {map[string][]byte{"a.star": []byte(`load("a.star", "x")`)}, ""}, // found when it runs
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
