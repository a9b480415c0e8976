package fnexec

import (
	"fmt"
	"strings"
)

// The bounds of an excerpt of stderr in an error. The one line that matters may be the first (a
// panic of Go) or the last (an exception of Python), and may have the cause at its end.
const (
	firstLines = 5
	lastLines  = 25
	lineBegin  = 200 // characters that are kept of a shortened line
	lineEnd    = 80
)

// excerpt returns the first and the last lines of a text. Long lines are shortened, and repeated
// lines are written once. cut reports whether anything was left out.
func excerpt(text string) (_ string, cut bool) {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	var folded []string
	var upTo []int // number of lines up to and with each of folded
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		line, long := shorten(lines[i])
		if n > 1 {
			line += fmt.Sprintf(" (the same line %d times)", n)
		}
		i += n
		folded, upTo, cut = append(folded, line), append(upTo, i), cut || long
	}
	if left := len(folded) - firstLines - lastLines; left > 1 {
		gap := fmt.Sprintf("… %d lines more …", upTo[firstLines+left-1]-upTo[firstLines-1])
		folded = append(append(folded[:firstLines:firstLines], gap), folded[firstLines+left:]...)
		cut = true
	}
	return strings.Join(folded, "\n"), cut
}

// shorten removes the middle of a long line.
func shorten(line string) (_ string, cut bool) {
	runes := []rune(line)
	left := len(runes) - lineBegin - lineEnd
	if left <= lineEnd { // the note would be about as long
		return line, false
	}
	return fmt.Sprintf("%s … %d characters more … %s", string(runes[:lineBegin]), left, string(runes[lineBegin+left:])), true
}
