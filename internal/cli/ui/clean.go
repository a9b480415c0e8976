package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// CleanText makes text that others wrote safe for a terminal: what would move the cursor,
// change colours or turn the direction of writing is written out as its code. Line ends
// and tabs stay.
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

// code is a character as an escape of JSON, in which errors may stand.
func code(r rune) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.String()
}

// Held keeps text that others wrote in one paragraph: a line behind the first that begins in the
// first column is indented, so that nothing but krmcat begins a line there.
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

// Clean passes on what is written, made safe with CleanText. Each Write stands for itself:
// it should end where a character ends.
func Clean(w io.Writer) io.Writer { return cleaner{w} }

// CleanLog is Clean for messages of others, one in each Write: see Held.
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
