package fnexec

import (
	"fmt"
	"strings"
)

// What of a function's words stands in an error. A function may write thousands of lines
// when all that it has to say is in one, the first (a panic of Go) or the last (one of
// Python); and that one may be long, with the cause at its end.
const (
	firstLines = 5
	lastLines  = 25
	lineBegin  = 200 // characters of a line that is cut
	lineEnd    = 80
)

// excerpt is what a person reads of a text: its first and its last lines, none of them
// over long, and one that is repeated only once. cut tells whether there is more to read.
func excerpt(text string) (_ string, cut bool) {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	var folded []string
	var upTo []int // how many lines end with each of folded
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

// shorten cuts the middle out of a long line.
func shorten(line string) (_ string, cut bool) {
	runes := []rune(line)
	left := len(runes) - lineBegin - lineEnd
	if left <= lineEnd { // it is not worth it
		return line, false
	}
	return fmt.Sprintf("%s … %d characters more … %s", string(runes[:lineBegin]), left, string(runes[lineBegin+left:])), true
}
