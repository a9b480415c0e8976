package reference

import (
	"strings"
	"unicode"
)

// Clean makes one short printable line of text from a third party. It removes queries of URLs,
// which may contain signatures.
func Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	words := strings.Fields(s)
	for i, w := range words {
		if _, query, _ := strings.Cut(w, "?"); strings.Contains(w, "://") || strings.Contains(query, "=") {
			words[i] = cutQuery(w)
		}
	}
	s = strings.Join(words, " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
