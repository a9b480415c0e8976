package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The bounds of a tree that is merged, far beyond what people write.
const (
	maxDepth  = 1000
	maxValues = 1 << 20
)

// copyOf copies what an argument of Merge holds and sees that it can be walked; nil where
// it holds nothing. Directives are looked at in a patch only: elsewhere they are data.
func (m *merger) copyOf(rn *yaml.RNode, patch bool) (*yaml.Node, error) {
	n, whole := within(rn)
	if !whole {
		return nil, m.at.wrong("the document has more than one value")
	}
	if n == nil || n.IsZero() {
		return nil, nil //nolint:nilnil // nothing was written, which is no error
	}
	c := copier{at: &m.at, room: maxValues, patch: patch}
	return c.copy(n, 0)
}

// within is the value of a tree, taken out of its document; nil where there is none. It is
// not the whole where a document has more of them.
func within(rn *yaml.RNode) (n *yaml.Node, whole bool) {
	if rn == nil {
		return nil, true
	}
	n = rn.Document() // not YNode, which panics where a document is empty
	if n == nil || n.Kind != yaml.DocumentNode {
		return n, true
	}
	if len(n.Content) == 0 {
		return nil, true
	}
	return n.Content[0], len(n.Content) == 1
}

// wrapLike gives a merged tree the document that base came in, if it came in one.
func wrapLike(base *yaml.RNode, merged *yaml.Node) *yaml.RNode {
	if base != nil && base.Document() != nil && base.Document().Kind == yaml.DocumentNode {
		doc := *base.Document()
		doc.Content = []*yaml.Node{merged}
		merged = &doc
	}
	return yaml.NewRNode(merged)
}

// copier copies a tree and refuses what could not be merged or would not come to an end.
type copier struct {
	at    *path
	room  int // values that may still be copied
	patch bool
}

func (c *copier) copy(n *yaml.Node, depth int) (*yaml.Node, error) {
	c.room--
	switch {
	case n == nil:
		return nil, c.at.wrong("the tree has a hole here")
	case depth > maxDepth:
		return nil, c.at.wrong("nested more than %d levels deep", maxDepth)
	case c.room < 0:
		return nil, c.at.wrong("more than %d values", maxValues)
	}
	var err error
	out := *n
	switch {
	case n.Kind == yaml.MappingNode:
		out.Content, err = c.fields(n.Content, depth+1)
	case n.Kind == yaml.SequenceNode:
		out.Content, err = c.items(n.Content, depth+1)
	case n.Kind == yaml.ScalarNode, n.IsZero():
		out.Content, out.Alias = nil, nil
	default:
		return nil, c.at.wrong("%s cannot be merged", kindName(n))
	}
	return &out, err
}

func (c *copier) items(in []*yaml.Node, depth int) ([]*yaml.Node, error) {
	var out []*yaml.Node
	for i, item := range in {
		c.at.item(i)
		copied, err := c.copy(item, depth)
		if err != nil {
			return nil, err
		}
		c.at.up()
		out = append(out, copied)
	}
	return out, nil
}

func (c *copier) fields(in []*yaml.Node, depth int) ([]*yaml.Node, error) {
	if len(in)%2 != 0 {
		return nil, c.at.wrong("a mapping has a key without a value")
	}
	var out []*yaml.Node
	seen := map[string]bool{}
	for i := 0; i < len(in); i += 2 {
		if in[i] == nil || in[i].Kind != yaml.ScalarNode {
			return nil, c.at.wrong("the key of a field must be text, not %s", kindName(in[i]))
		}
		key, err := c.copy(in[i], depth)
		if err != nil {
			return nil, err
		}
		c.at.field(key.Value)
		switch {
		case key.ShortTag() == yaml.MergeTag:
			return nil, c.at.wrong("a merge key cannot be merged")
		case seen[key.Value]:
			return nil, c.at.wrong("the field is written twice")
		}
		seen[key.Value] = true
		value, err := c.copy(in[i+1], depth)
		if err != nil {
			return nil, err
		}
		if msg := checkDirective(key, value); c.patch && msg != "" {
			c.at.up()
			return nil, c.at.wrong("%s", msg)
		}
		c.at.up()
		out = append(out, key, value)
	}
	return out, nil
}

// isNull tells null, however it is written.
func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

// fieldOf is the value of a field, nil where n has none, whatever n is.
func fieldOf(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k != nil && k.Kind == yaml.ScalarNode && k.Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func kindName(n *yaml.Node) string {
	switch {
	case n == nil:
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.ScalarNode:
		return "a scalar"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	}
	return "a node of an unknown kind"
}

// quote repeats a piece of the text in a message, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}

// path is where in the trees a walk is. What fails leaves it as it is, for its error.
type path []step

// step is the name of a field, or else the number of an item.
type step struct {
	name string
	item int // -1 for a field
}

func (p *path) field(name string) { *p = append(*p, step{name: name, item: -1}) }
func (p *path) item(i int)        { *p = append(*p, step{item: i}) }
func (p *path) up()               { *p = (*p)[:len(*p)-1] }

func (p *path) wrong(format string, args ...any) error {
	return &MergeError{Path: p.String(), Msg: fmt.Sprintf(format, args...)}
}

// String is the path as people write it. Of a very long one, the middle is left out.
func (p *path) String() string {
	const most = 20
	steps := slices.Clone(*p)
	var b strings.Builder
	for i, s := range steps {
		switch {
		case i == most/2 && len(steps) > most:
			b.WriteString("…")
		case i > most/2 && i < len(steps)-most/2:
		case s.item >= 0:
			fmt.Fprintf(&b, "[%d]", s.item)
		case !plainName(s.name):
			fmt.Fprintf(&b, "[%s]", quote(s.name))
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// plainName tells names that cannot be taken for anything else within a path.
func plainName(s string) bool {
	const most = 60
	other := func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, other)
}
