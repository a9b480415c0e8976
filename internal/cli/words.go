package cli

import (
	"errors"
	"strings"
)

// shellWords splits a command as a shell does: quotes and backslashes keep spaces. Nothing is
// expanded.
func shellWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote, escaped := false, rune(0), false // in means that a word has begun, maybe an empty one
	for _, r := range text {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, quote = true, r
		case strings.ContainsRune(" \t\n", r):
			if in {
				words = append(words, word.String())
			}
			in = false
			word.Reset()
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or a backslash at its end is open")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
