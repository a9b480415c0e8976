package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// CleanText makes text of others safe for a terminal. Characters that move the cursor, change
// colours or the direction of writing are replaced by their codes. Line ends and tabs stay.
func CleanText(s string) string {
	if strings.IndexFunc(s, unsafe) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unsafe(r):
			b.WriteString(code(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code returns a character as an escape of JSON, since errors may be JSON.
func code(r rune) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.String()
}

// Held indents the lines of a text after the first that begin in the first column, so that text of
// others cannot imitate lines of krmcat.
func Held(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if i > 0 && line != "" && line[0] != ' ' && line[0] != '\t' {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

func unsafe(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029')
}

// Clean returns a Writer that makes text safe with CleanText. Each Write is converted by itself, so
// it should not end within a character.
func Clean(w io.Writer) io.Writer { return cleaner{w} }

// CleanLog is like Clean, for messages of others, one in each Write. See Held.
func CleanLog(w io.Writer) io.Writer { return messages{Clean(w)} }

type messages struct{ w io.Writer }

func (m messages) Write(p []byte) (int, error) {
	if _, err := io.WriteString(m.w, Held(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

type cleaner struct{ w io.Writer }

func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, CleanText(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
