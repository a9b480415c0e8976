package edit

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// span is where a value stands in a text. Its properties, an anchor or a tag, stand between start
// and token.
type span struct{ start, token, end int }

// source is a text with the places of its values.
type source struct {
	text  string
	lines []int // offsets of the lines
	spans map[*yaml.Node]span
	// after is the offset behind the colon or the dash before a value.
	after map[*yaml.Node]int
}

// locate finds the values of a document. The error says what the scanner does not understand; the
// places that it found before are kept.
func locate(text string, doc *yaml.Node) (*source, error) {
	s := &source{text: text, spans: map[*yaml.Node]span{}, after: map[*yaml.Node]int{}}
	s.lines = lineStarts(text)
	_, err := s.node(doc.Content[0], -1, false)
	return s, err
}

// lineStarts finds the lines as the parser counts them.
func lineStarts(text string) []int {
	starts := []int{0}
	for i, r := range text {
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			starts = append(starts, i+utf8.RuneLen(r))
		}
	}
	return starts
}

// offset returns the offset of a line and a column, which count from 1.
func (s *source) offset(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return 0, fmt.Errorf("line %d", n.Line)
	}
	at := s.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(s.text) {
			return 0, fmt.Errorf("line %d: column %d", n.Line, n.Column)
		}
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at, nil
}

// node finds a value in a collection of this indentation.
func (s *source) node(n *yaml.Node, indent int, flow bool) (end int, err error) {
	start, err := s.offset(n)
	if err != nil {
		return 0, err
	}
	sp := span{start: start, token: start}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		sp.token = s.skipProperties(start)
	}
	switch n.Kind {
	case yaml.AliasNode:
		sp.end, err = s.alias(sp.token)
	case yaml.ScalarNode:
		sp.end, err = s.scalar(n, sp.token, scalarPlace{indent, flow})
	case yaml.MappingNode, yaml.SequenceNode:
		sp.end, err = s.collection(n, sp.token)
	default:
		err = fmt.Errorf("line %d: an unknown node", n.Line)
	}
	if err != nil {
		return 0, err
	}
	s.spans[n] = sp
	return sp.end, nil
}

// skipProperties skips anchors, tags, and the white space and comments after them.
func (s *source) skipProperties(at int) int {
	for at < len(s.text) && (s.text[at] == '&' || s.text[at] == '!') {
		if end := strings.IndexByte(s.text[at:], '>'); end > 0 && strings.HasPrefix(s.text[at:], "!<") {
			at += end
		}
		for at < len(s.text) && strings.IndexByte(" \t\n,[]{}", s.text[at]) < 0 {
			at++
		}
		property := at
		at = s.skipSpace(at)
		if at == len(s.text) || at > property && s.text[property] == '\n' && s.text[at] == '-' && strings.HasPrefix(s.text[at:], "---") {
			return property
		}
	}
	return at
}

// skipSpace skips white space, line ends and comments.
func (s *source) skipSpace(at int) int {
	for at < len(s.text) {
		switch s.text[at] {
		case ' ', '\t', '\n', '\r':
			at++
		case '#':
			for at < len(s.text) && s.text[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func (s *source) alias(at int) (int, error) {
	if at >= len(s.text) || s.text[at] != '*' {
		return 0, fmt.Errorf("offset %d: no alias", at)
	}
	for at < len(s.text) && strings.IndexByte(" \t\n\r,[]{}", s.text[at]) < 0 {
		at++
	}
	return at, nil
}

func (s *source) collection(n *yaml.Node, token int) (int, error) {
	if token < len(s.text) && (s.text[token] == '{' || s.text[token] == '[') && n.Style&yaml.FlowStyle != 0 {
		return s.flow(n, token)
	}
	if n.Style&yaml.FlowStyle != 0 && n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		return s.pair(n)
	}
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return 0, fmt.Errorf("line %d: a collection without brackets", n.Line)
	}
	indent := token - s.lineStart(token)
	if n.Kind == yaml.SequenceNode {
		return s.items(n, token, indent)
	}
	return s.fields(n, token, indent)
}

// fields finds the fields of a mapping in block style.
func (s *source) fields(m *yaml.Node, at, indent int) (end int, err error) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if i > 0 {
			at = s.skipSpace(end)
		}
		if end, err = s.node(k, indent, false); err != nil {
			return 0, err
		}
		question := strings.HasPrefix(s.text[at:], "? ") || strings.HasPrefix(s.text[at:], "?\n")
		if start := s.spans[k].start; start != at && !question || at-s.lineStart(at) != indent {
			return 0, fmt.Errorf("line %d: the key is not where it is expected", k.Line)
		}
		for end < len(s.text) && (s.text[end] == ' ' || s.text[end] == '\t') {
			end++
		}
		if question {
			end = s.skipSpace(end)
		}
		if end >= len(s.text) || s.text[end] != ':' {
			return 0, fmt.Errorf("line %d: no colon after the key", k.Line)
		}
		s.after[v] = end + 1
		if end, err = s.node(v, indent, false); err != nil {
			return 0, err
		}
		if end < s.after[v] {
			return 0, fmt.Errorf("line %d: the value is not where it is expected", v.Line)
		}
	}
	return end, nil
}

// items finds the items of a list in block style.
func (s *source) items(list *yaml.Node, at, indent int) (end int, err error) {
	for i, item := range list.Content {
		if i > 0 {
			at = s.skipSpace(end)
		}
		if at >= len(s.text) || s.text[at] != '-' || at-s.lineStart(at) != indent {
			return 0, fmt.Errorf("line %d: no dash before the item", item.Line)
		}
		s.after[item] = at + 1
		if end, err = s.node(item, indent, false); err != nil {
			return 0, err
		}
		if end < s.after[item] {
			return 0, fmt.Errorf("line %d: the item is not where it is expected", item.Line)
		}
	}
	return end, nil
}

// flow finds the parts of a collection in brackets.
func (s *source) flow(n *yaml.Node, at int) (end int, err error) {
	closing := byte('}')
	if s.text[at] == '[' {
		closing = ']'
	}
	at++
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			colon := s.skipSpace(at)
			if colon < len(s.text) && s.text[colon] == ':' {
				at = colon + 1
			}
		}
		s.after[c] = at
		if at, err = s.node(c, -1, true); err != nil {
			return 0, err
		}
	}
	at = s.skipSpace(at)
	if at < len(s.text) && s.text[at] == ',' {
		at = s.skipSpace(at + 1)
	}
	if at >= len(s.text) || s.text[at] != closing {
		return 0, fmt.Errorf("line %d: no %c where it is expected", n.Line, closing)
	}
	return at + 1, nil
}

// pair finds the parts of a mapping of one field that stands in a list without brackets of its own.
func (s *source) pair(n *yaml.Node) (end int, err error) {
	if end, err = s.node(n.Content[0], -1, true); err != nil {
		return 0, err
	}
	if end = s.skipSpace(end); end >= len(s.text) || s.text[end] != ':' {
		return 0, fmt.Errorf("line %d: no colon after the key", n.Line)
	}
	s.after[n.Content[1]] = end + 1
	return s.node(n.Content[1], -1, true)
}

// lineStart returns the offset of the line that an offset is in.
func (s *source) lineStart(at int) int {
	i := sort.SearchInts(s.lines, at+1) - 1
	return s.lines[max(i, 0)]
}

// lineEnd returns the offset of the end of the line that an offset is in, before the line end.
func (s *source) lineEnd(at int) int {
	if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(s.text)
}

// nextLine returns the offset of the line after the one that an offset is in.
func (s *source) nextLine(at int) int { return min(s.lineEnd(at)+1, len(s.text)) }

// firstOnLine reports whether nothing but spaces stands before an offset in its line.
func (s *source) firstOnLine(at int) bool {
	return strings.Trim(s.text[s.lineStart(at):at], " ") == ""
}

// lastOnLine reports whether nothing but a comment stands after an offset in its line.
func (s *source) lastOnLine(at int) bool {
	rest := s.text[at:s.lineEnd(at)]
	trimmed := strings.TrimLeft(rest, " \t")
	return trimmed == "" || trimmed[0] == '#' && len(trimmed) < len(rest)
}
