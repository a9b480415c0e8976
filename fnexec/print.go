package fnexec

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The library's printer takes twice as long as its parser, and a list is printed for each
// function. Nearly all resources are simple: no comments, ASCII texts, short lists in brackets.
// appendEntry prints those. A fuzz test compares its output with the library's.

// The bounds of what is printed here.
const (
	plainDepth = 64  // levels of nesting
	plainKey   = 100 // bytes of a key: the library writes a longer one in a form of its own
)

// appendEntry prints an item as an entry of a list that is not indented. If ok is false, the item
// is not simple and the output must be discarded: the library has to print it.
func appendEntry(out []byte, item *yaml.Node) (_ []byte, ok bool) {
	p := printer{out: out}
	p.entries([]*yaml.Node{item}, 0, false)
	return p.out, !p.odd
}

// printer prints simple trees.
type printer struct {
	out []byte
	odd bool // something is not simple
}

// simple reports whether a node has a value and nothing else. It sets odd if not.
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

// entries prints a list. inline means that its first line has begun.
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

// value prints what follows a key or a dash with indent by, including the end of the line.
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
	case n.Style == yaml.FlowStyle && len(n.Content) > 0:
		p.out = append(p.out, ' ')
		p.flow(n, 0)
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

// flow prints a mapping or a list in brackets, on one line.
func (p *printer) flow(n *yaml.Node, depth int) {
	switch {
	case !p.simple(n) || depth > plainDepth:
		p.odd = true
	case n.Kind == yaml.ScalarNode:
		p.odd = p.odd || n.Style == yaml.LiteralStyle || n.Style == 0 && strings.ContainsAny(n.Value, ",:")
		p.scalar(n, 0)
	case n.Style != yaml.FlowStyle || len(n.Content) == 0:
		p.odd = true
	case n.Kind == yaml.SequenceNode && (n.Tag == "" || n.Tag == yaml.NodeTagSeq):
		p.out = append(p.out, '[')
		p.separated(n.Content, depth, ", ", ", ")
		p.out = append(p.out, ']')
	case n.Kind == yaml.MappingNode && (n.Tag == "" || n.Tag == yaml.NodeTagMap) && len(n.Content)%2 == 0:
		p.out = append(p.out, '{')
		p.separated(n.Content, depth, ": ", ", ")
		p.out = append(p.out, '}')
	default:
		p.odd = true
	}
}

// separated prints nodes with what separates the first two and every other two, and the rest.
func (p *printer) separated(nodes []*yaml.Node, depth int, first, then string) {
	for i, n := range nodes {
		isKey := first != then && i%2 == 0
		if p.odd || isKey && (n.Kind != yaml.ScalarNode || n.Value == "" || len(n.Value) > plainKey) {
			p.odd = true
			return
		}
		switch {
		case i == 0:
		case i%2 == 1:
			p.out = append(p.out, first...)
		default:
			p.out = append(p.out, then...)
		}
		p.flow(n, depth+1)
	}
}

// collection begins a mapping or a list, and reports whether it has entries.
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

// literal prints a text as a literal block.
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

// printable reports whether a text fits in quotes on one line without escapes.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// bare reports whether a text needs no quotes: it has no syntax of YAML in it, and begins with a
// letter, a digit or a slash, or as an option does.
func bare(s string) bool {
	if s == "" || s[len(s)-1] == ' ' {
		return false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "-")
	if rest == "" || !letterOrDigit(rest[0]) && (rest[0] != '/' || len(rest) < len(s)) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case letterOrDigit(c), bytes.IndexByte([]byte("_-./=,()@+$;"), c) >= 0:
		case c == ' ': // no # can follow, which is not in the list
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

// bareTag returns the tag that a parser gives to an unquoted text.
func bareTag(s string) string {
	if s[0] > '9' && bytes.IndexByte([]byte("yYnNtTfFoO"), s[0]) < 0 {
		return yaml.NodeTagString // only these letters begin a null, a boolean or a special float
	}
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).ShortTag()
}
