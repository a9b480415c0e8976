package fnexec

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The library's printer takes twice as long as its parser, and a list is printed for each
// function. Resources look nearly all the same: block style, no comments, short texts of
// ASCII. appendEntry prints those; a fuzz test sees to it that they come out as the library
// prints them.

// The bounds on what is printed here.
const (
	plainDepth = 64  // levels of nesting
	plainKey   = 100 // bytes of a key: longer ones get a line of their own
)

// appendEntry prints an item as an entry of a list that is not indented. ok is false, and
// out of no use, where there is anything about it that only the library knows how to print.
func appendEntry(out []byte, item *yaml.Node) (_ []byte, ok bool) {
	p := printer{out: out}
	p.entries([]*yaml.Node{item}, 0, false)
	return p.out, !p.odd
}

// printer prints trees of the simple kind.
type printer struct {
	out []byte
	odd bool // something is not of the simple kind
}

// simple tells a node that has nothing but a value, and sets odd for any other.
func (p *printer) simple(n *yaml.Node) bool {
	if n == nil || n.Anchor != "" || n.Alias != nil || n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
		p.odd = true
	}
	return !p.odd
}

func (p *printer) indent(by int) {
	for range by {
		p.out = append(p.out, ' ')
	}
}

// entries prints a list. Where inline is set, its first line was begun already.
func (p *printer) entries(list []*yaml.Node, by int, inline bool) {
	for i, n := range list {
		if i > 0 || !inline {
			p.indent(by)
		}
		p.out = append(p.out, '-')
		p.value(n, by, true)
	}
}

func (p *printer) fields(content []*yaml.Node, by int, inline bool) {
	for i := 0; i+1 < len(content); i += 2 {
		if i > 0 || !inline {
			p.indent(by)
		}
		if k := content[i]; p.simple(k) {
			if k.Kind != yaml.ScalarNode || k.Value == "" || len(k.Value) > plainKey || k.Style == yaml.LiteralStyle {
				p.odd = true
				return
			}
			p.scalar(k, by)
		}
		p.out = append(p.out, ':')
		p.value(content[i+1], by, false)
	}
}

// value prints what comes after a key or a dash that is indented by so much, to the end of
// the line that it ends on.
func (p *printer) value(n *yaml.Node, by int, inList bool) {
	if !p.simple(n) || by > 2*plainDepth {
		p.odd = true
		return
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		p.out = append(p.out, ' ')
		p.scalar(n, by)
		p.out = append(p.out, '\n')
	case n.Kind == yaml.MappingNode && (n.Tag == "" || n.Tag == yaml.NodeTagMap) && len(n.Content)%2 == 0:
		if p.collection(n, "{}", inList) {
			p.fields(n.Content, by+2, inList)
		}
	case n.Kind == yaml.SequenceNode && (n.Tag == "" || n.Tag == yaml.NodeTagSeq):
		if inList {
			by += 2
		}
		if p.collection(n, "[]", inList) {
			p.entries(n.Content, by, inList)
		}
	default:
		p.odd = true
	}
}

// collection begins a mapping or a list, and tells whether there is anything in it.
func (p *printer) collection(n *yaml.Node, empty string, inList bool) bool {
	switch {
	case len(n.Content) == 0 && n.Style&^yaml.FlowStyle == 0:
		p.out = append(p.out, ' ')
		p.out = append(p.out, empty...)
		p.out = append(p.out, '\n')
		return false
	case n.Style != 0:
		p.odd = true
	case inList:
		p.out = append(p.out, ' ')
	default:
		p.out = append(p.out, '\n')
	}
	return !p.odd
}

// scalar prints a text in its style, without the end of its last line.
func (p *printer) scalar(n *yaml.Node, by int) {
	isText := n.Tag == "" || n.Tag == yaml.NodeTagString
	switch {
	case n.Style == yaml.SingleQuotedStyle && isText && printable(n.Value):
		p.out = append(p.out, '\'')
		p.out = append(p.out, strings.ReplaceAll(n.Value, "'", "''")...)
		p.out = append(p.out, '\'')
	case n.Style == yaml.DoubleQuotedStyle && isText && printable(n.Value) && !strings.ContainsAny(n.Value, `"\`):
		p.out = append(p.out, '"')
		p.out = append(p.out, n.Value...)
		p.out = append(p.out, '"')
	case n.Style == yaml.LiteralStyle && isText:
		p.literal(n.Value, by+2)
	case n.Style == 0 && bare(n.Value) && (n.Tag == "" || n.Tag == bareTag(n.Value)):
		p.out = append(p.out, n.Value...)
	default:
		p.odd = true
	}
}

// literal prints lines as they stand.
func (p *printer) literal(s string, by int) {
	body, ends := strings.CutSuffix(s, "\n")
	if body == "" || body[0] == ' ' || body[0] == '\n' || body[len(body)-1] == '\n' {
		p.odd = true
		return
	}
	p.out = append(p.out, '|')
	if !ends {
		p.out = append(p.out, '-')
	}
	for line := range strings.SplitSeq(body, "\n") {
		p.odd = p.odd || !printable(line) || strings.HasSuffix(line, " ")
		p.out = append(p.out, '\n')
		if line != "" {
			p.indent(by)
		}
		p.out = append(p.out, line...)
	}
}

// printable tells a text of one line that stands in quotes as it is.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// bare tells a text that no syntax of YAML's is in: such a one begins with a letter, a digit
// or a slash.
func bare(s string) bool {
	if s == "" || !letterOrDigit(s[0]) && s[0] != '/' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case letterOrDigit(c), bytes.IndexByte([]byte("_-./=,()@+$;"), c) >= 0:
		case c == ' ': // there is no # that could follow
		case c == ':' && i+1 < len(s) && s[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// bareTag is the tag that a reader gives to a bare text.
func bareTag(s string) string {
	if s[0] > '9' && bytes.IndexByte([]byte("yYnNtTfFoO"), s[0]) < 0 {
		return yaml.NodeTagString // only these begin a word with a meaning
	}
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).ShortTag()
}
