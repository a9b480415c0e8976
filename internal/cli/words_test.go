package cli

import (
	"slices"
	"testing"
)

func TestShellWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                        nil,
		"  ":                      nil,
		"fn":                      {"fn"},
		" a  b\tc\n":              {"a", "b", "c"},
		`'a b' "c d"e f\ g`:       {"a b", "c de", "f g"},
		`"" ''`:                   {"", ""},
		`'\' "\" \x \\" \"`:       {`\`, `" \x \`, `"`},
		`--format='{"a": "b c"}'`: {`--format={"a": "b c"}`},
		"größe \"名 前\"":           {"größe", "名 前"},
		"$HOME `id` *":            {"$HOME", "`id`", "*"},
	} {
		if got, err := shellWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`'a`, `a "b`, `a\`, `"\"`} {
		if got, err := shellWords(text); err == nil {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
