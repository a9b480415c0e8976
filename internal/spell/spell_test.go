package spell_test

import (
	"testing"

	"github.com/krmcat/krmcat/internal/spell"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"transformers", "generators", "kind", "runtime", "exec", "g"}
	for written, want := range map[string]string{
		"transfomers": "transformers", "Transformer": "transformers", "generator": "generators", "kidn": "", "knd": "kind",
		"runtimes": "runtime", "exce": "", "exe": "exec", "": "", "somethingelse": "", "KIND": "kind", "x": "",
	} {
		if got := spell.Nearest(written, known); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}
