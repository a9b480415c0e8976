package edit

import (
	"bytes"
	"errors"
	"slices"
	"sort"
)

// splice replaces a part of a text. Offsets are those of its Lines.
type splice struct {
	start, end int
	text       string
}

var errOverlap = errors.New("two changes overlap")

// apply replaces parts of a text. What is new has the line ends of the text.
func apply(text []byte, splices []splice) ([]byte, error) {
	slices.SortStableFunc(splices, func(a, b splice) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	returns := returnsOf(text)
	at := func(offset int) int { return offset + sort.SearchInts(returns, offset) }
	out := make([]byte, 0, len(text)+64)
	pos := 0
	for _, s := range splices {
		start, end := at(s.start), at(s.end)
		if start < pos || end < start || end > len(text) {
			return nil, errOverlap
		}
		out = append(out, text[pos:start]...)
		out = append(out, withLineEnds([]byte(s.text), crlf(text))...)
		pos = end
	}
	return append(out, text[pos:]...), nil
}

// returnsOf returns where in the Lines of a text its line ends have lost a carriage return.
func returnsOf(text []byte) []int {
	var at []int
	for i := range len(text) - 1 {
		if text[i] == '\r' && text[i+1] == '\n' {
			at = append(at, i-len(at))
		}
	}
	return at
}

// crlf reports whether most lines of a text end as on Windows.
func crlf(text []byte) bool {
	with := bytes.Count(text, []byte("\r\n"))
	return with > 0 && 2*with >= bytes.Count(text, []byte("\n"))
}

func withLineEnds(text []byte, crlf bool) []byte {
	if !crlf {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}
