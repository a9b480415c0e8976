package edit

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// scalarPlace is what the end of a scalar depends on.
type scalarPlace struct {
	indent int // of the collection around it, -1 for none
	flow   bool
}

// scalar returns the end of a scalar whose token begins at an offset.
func (s *source) scalar(n *yaml.Node, at int, p scalarPlace) (int, error) {
	first := byte(0)
	if at < len(s.text) {
		first = s.text[at]
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0 && first == '"':
		return s.quoted(at, n)
	case n.Style&yaml.SingleQuotedStyle != 0 && first == '\'':
		return s.quoted(at, n)
	case n.Style&yaml.LiteralStyle != 0 && first == '|', n.Style&yaml.FoldedStyle != 0 && first == '>':
		return s.block(at, p.indent), nil
	case n.Style&^yaml.TaggedStyle != 0:
		return 0, fmt.Errorf("line %d: the scalar does not begin as it should", n.Line)
	case n.Value == "":
		return at, nil
	}
	return s.plain(n, at, p.flow)
}

func (s *source) quoted(at int, n *yaml.Node) (int, error) {
	quote := s.text[at]
	for i := at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && quote == '"':
			i++
		case s.text[i] != quote:
		case quote == '\'' && i+1 < len(s.text) && s.text[i+1] == '\'':
			i++
		default:
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("line %d: a quoted scalar has no end", n.Line)
}

// block returns the end of a literal or folded scalar: that of its last line, without the line end.
func (s *source) block(at, indent int) int {
	header := s.text[at:s.lineEnd(at)]
	header, _, _ = strings.Cut(header, "#")
	inner := 0
	if i := strings.IndexAny(header, "123456789"); i >= 0 {
		inner = max(indent, 0) + int(header[i]-'0')
	}
	keeps := strings.Contains(header, "+")
	end := s.lineEnd(at)
	for pos := end + 1; pos <= len(s.text)-1; pos = s.lineEnd(pos) + 1 {
		line := s.text[pos:s.lineEnd(pos)]
		by := len(line) - len(strings.TrimLeft(line, " "))
		blank := by == len(line)
		if inner == 0 && !blank {
			if by <= indent {
				break
			}
			inner = by
		}
		switch {
		case blank && inner > 0 && by > inner, !blank && by >= inner && inner > 0, blank && keeps:
			end = s.lineEnd(pos)
		case blank:
		default:
			return end
		}
	}
	return end
}

// plain returns the end of a plain scalar. It takes further lines until they make up the value.
func (s *source) plain(n *yaml.Node, at int, flow bool) (int, error) {
	folded, breaks := "", 0
	for pos := at; pos < len(s.text); pos = s.lineEnd(pos) + 1 {
		line := plainPart(s.text[pos:s.lineEnd(pos)], flow)
		text := strings.TrimLeft(line, " \t")
		start := pos + len(line) - len(text)
		text = strings.TrimRight(text, " \t")
		switch {
		case text == "":
			breaks++
			continue
		case folded == "":
			folded = text
		case breaks > 0:
			folded += strings.Repeat("\n", breaks) + text
		default:
			folded += " " + text
		}
		breaks = 0
		if folded == n.Value {
			return start + len(text), nil
		}
		if !strings.HasPrefix(n.Value, folded) {
			break
		}
	}
	return 0, fmt.Errorf("line %d: a plain scalar is not where it is expected", n.Line)
}

// plainPart returns the part of a line that can belong to a plain scalar.
func plainPart(line string, flow bool) string {
	for i := range len(line) {
		next := byte(' ')
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch c := line[i]; {
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		case c == ':' && (next == ' ' || next == '\t' || flow && strings.IndexByte(",[]{}", next) >= 0):
			return line[:i]
		case flow && strings.IndexByte(",[]{}", c) >= 0:
			return line[:i]
		}
	}
	return line
}
