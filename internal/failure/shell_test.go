package failure_test

import (
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
)

// TestShellWord: a word that a hint repeats is one word of a shell.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"oci://r.example:5000/x@sha256:0": "oci://r.example:5000/x@sha256:0",
		"a b":                             "'a b'",
		"it's":                            `'it'\''s'`,
		"$(x)":                            "'$(x)'",
		"[::1]:5000":                      "'[::1]:5000'",
		"":                                "''",
	} {
		if got := failure.ShellWord(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}
