package files

import "bytes"

// bom begins some files, and belongs to no document.
const bom = "\ufeff"

// segment is the text of one document, with the separator before it, its directives and its
// document end marker. Segments follow one another without a gap.
type segment struct {
	start, end int // offsets in the file
	line       int // of the start, 1-based
}

// split finds the documents of a text. A line that begins with --- or ... cannot be anything else:
// YAML forbids it inside of a scalar. Comments before the first separator are a segment of their
// own, as they are for kyaml, unless directives stand among them.
func split(data []byte) []segment {
	s := splitter{data: data}
	pos, line := 0, 1
	if bytes.HasPrefix(data, []byte(bom)) {
		pos = len(bom)
	}
	s.begin(pos, line, false)
	for pos < len(data) {
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		s.next(pos, end, line)
		pos, line = end, line+1
	}
	s.finish(len(data))
	return s.found
}

type splitter struct {
	data  []byte
	found []segment
	open  segment
	// marked: the segment has its separator. content: something other than comments and directives
	// is in it. ahead: its comments belong to the document after them.
	marked, content, ahead bool
}

func (s *splitter) begin(pos, line int, ahead bool) {
	s.open = segment{start: pos, line: line}
	s.marked, s.content, s.ahead = false, false, ahead
}

func (s *splitter) finish(pos int) {
	if s.open.end = pos; s.open.end > s.open.start {
		s.found = append(s.found, s.open)
	}
}

// next takes one line.
func (s *splitter) next(start, end, line int) {
	text := s.data[start:end]
	switch {
	case isMarker(text, "---"):
		if s.marked || s.content || !s.ahead {
			s.finish(start)
			s.begin(start, line, false)
		}
		s.marked = true
	case isMarker(text, "..."):
		s.finish(end)
		s.begin(end, line+1, true)
	case s.marked || s.content:
	case text[0] == '%':
		s.ahead = true
	case !isBlank(text):
		s.content = true
	}
}

// isMarker reports whether a line begins with a marker that is followed by white space or nothing.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBlank reports whether a line has nothing but white space or a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}
