package catalog

import (
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
)

// path is where in a document a node stands. It is written out only for an error.
type path struct {
	up   *path
	name string // of a field; "" for an entry of a list
	i    int
}

func (p *path) field(name string) *path { return &path{up: p, name: name} }
func (p *path) entry(i int) *path       { return &path{up: p, i: i} }

func (p *path) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return fmt.Sprintf("%s[%d]", p.up, p.i)
	case p.up == nil:
		return p.name
	}
	return p.up.String() + "." + p.name
}

// in is the beginning of a message about a node.
func (p *path) in() string {
	if p == nil {
		return ""
	}
	return p.String() + ": "
}

// typeOf names a node's type in words.
func typeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	switch n.ShortTag() {
	case yaml.NodeTagString:
		return "string"
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		return "number"
	case yaml.NodeTagBool:
		return "boolean"
	case yaml.NodeTagNull:
		return "null"
	case "!!timestamp":
		return "date"
	}
	return "value of type " + quote(n.ShortTag())
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

func (d *decoder) wrongType(n *yaml.Node, p *path, want string) {
	quoting := ""
	if want == "string" && n.Kind == yaml.ScalarNode && !isNull(n) {
		quoting = ", quote it"
	}
	d.ps.add(n.Line, "%smust be a %s, not a %s%s", p.in(), want, typeOf(n), quoting)
}

// mapping hands each field of a mapping to f, which reports whether it knows the name.
// Fields that are null are absent.
func (d *decoder) mapping(n *yaml.Node, p *path, known func() []string, f func(k, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == yaml.MergeTag {
			continue // reported when the file was parsed
		}
		if isNull(v) {
			v = &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Line: k.Line}
		}
		if f(k, v) {
			continue
		}
		meant := ""
		if near := spell.Nearest(k.Value, known()); near != "" {
			meant = fmt.Sprintf(", did you mean %q?", near)
			d.meant[n] = append(d.meant[n], near)
		}
		d.ps.add(k.Line, "%sunknown field %s%s", p.in(), quote(k.Value), meant)
	}
}

// text reads a string; nothing where it is null.
func (d *decoder) text(n *yaml.Node, p *path) string {
	switch {
	case isNull(n):
		return ""
	case n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString:
		d.wrongType(n, p, "string")
		return ""
	}
	return n.Value
}

// name reads a string that is part of a FunctionID.
func (d *decoder) name(n *yaml.Node, p *path) string {
	s := d.text(n, p)
	if strings.ContainsFunc(s, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		d.ps.add(n.Line, "%s%s is not a name: it has a slash, a space or a control character", p.in(), quote(s))
	}
	return s
}

func (d *decoder) boolean(n *yaml.Node, p *path) *bool {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagBool {
		d.ps.add(n.Line, "%smust be true or false, not a %s", p.in(), typeOf(n))
		return nil
	}
	b := strings.EqualFold(n.Value, "true")
	return &b
}

// texts reads a list of strings.
func (d *decoder) texts(n *yaml.Node, p *path) []string {
	var out []string
	for i, c := range d.list(n, p) {
		if s := d.text(c, p.entry(i)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (d *decoder) list(n *yaml.Node, p *path) []*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, p, "list")
		return nil
	}
	return n.Content
}

// pairs reads labels or annotations. Values that are not text are taken as written:
// nothing depends on them.
func (d *decoder) pairs(n *yaml.Node, p *path) map[string]string {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, p, "mapping")
		return nil
	}
	out := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() == yaml.MergeTag:
		case v.Kind != yaml.ScalarNode:
			d.wrongType(v, p.field(plain(k.Value)), "string")
		case isNull(v):
			out[k.Value] = ""
		default:
			out[k.Value] = v.Value
		}
	}
	return out
}
