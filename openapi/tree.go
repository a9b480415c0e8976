package openapi

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The bounds of a tree that is merged. They are far beyond what people write.
const (
	maxDepth  = 1000
	maxValues = 1 << 20
)

// copyOf copies an argument of Merge and checks that it can be walked. It is nil if the argument is
// empty. Directives are checked in a patch only: elsewhere they are data.
func (m *merger) copyOf(rn *yaml.RNode, patch bool) (*yaml.Node, error) {
	n, whole := within(rn)
	if !whole {
		return nil, m.wrong("the document has more than one value")
	}
	if n == nil || n.IsZero() {
		return nil, nil //nolint:nilnil // nothing was written, which is no error
	}
	c := copier{merger: m, room: maxValues, patch: patch}
	return c.copy(n, 0)
}

// within returns the value of a tree without its document, nil for none. whole is false if the
// document has more values.
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

// wrapLike puts a merged tree into the document of base, if base had one.
func wrapLike(base *yaml.RNode, merged *yaml.Node) *yaml.RNode {
	if base != nil && base.Document() != nil && base.Document().Kind == yaml.DocumentNode {
		doc := *base.Document()
		doc.Content = []*yaml.Node{merged}
		merged = &doc
	}
	return yaml.NewRNode(merged)
}

// copier copies a tree. It refuses what cannot be merged, and trees without end.
type copier struct {
	*merger
	room  int // values that may still be copied
	patch bool
}

func (c *copier) copy(n *yaml.Node, depth int) (*yaml.Node, error) {
	c.room--
	switch {
	case n == nil:
		return nil, c.wrong("the tree has a hole here")
	case depth > maxDepth:
		return nil, c.tooMuch("nested more than %d levels deep", maxDepth)
	case c.room < 0:
		return nil, c.tooMuch("more than %d values", maxValues)
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
		return nil, c.wrong("%s cannot be merged", yamldoc.Describe(n))
	}
	return &out, err
}

func (c *copier) items(in []*yaml.Node, depth int) ([]*yaml.Node, error) {
	var out []*yaml.Node
	for i, item := range in {
		c.at = c.at.Item(i)
		copied, err := c.copy(item, depth)
		if err != nil {
			return nil, err
		}
		c.at = c.at.Up()
		out = append(out, copied)
	}
	return out, nil
}

func (c *copier) fields(in []*yaml.Node, depth int) ([]*yaml.Node, error) {
	if len(in)%2 != 0 {
		return nil, c.wrong("a mapping has a key without a value")
	}
	var out []*yaml.Node
	seen := map[string]bool{}
	for i := 0; i < len(in); i += 2 {
		if in[i] == nil || in[i].Kind != yaml.ScalarNode {
			return nil, c.wrong("the key of a field must be text, not %s", yamldoc.Describe(in[i]))
		}
		key, err := c.copy(in[i], depth)
		if err != nil {
			return nil, err
		}
		c.at = c.at.Field(key.Value)
		switch {
		case key.ShortTag() == yaml.MergeTag:
			return nil, c.wrong("a merge key cannot be merged")
		case seen[key.Value]:
			return nil, c.wrong("the field is written twice")
		}
		seen[key.Value] = true
		value, err := c.copy(in[i+1], depth)
		if err != nil {
			return nil, err
		}
		if msg := checkDirective(key, value); c.patch && msg != "" {
			c.at = c.at.Up()
			return nil, c.wrong("%s", msg)
		}
		c.at = c.at.Up()
		out = append(out, key, value)
	}
	return out, nil
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = yamldoc.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// tooMuch returns an error about a tree that is not walked to its end.
func (m *merger) tooMuch(format string, most int) error {
	return &MergeError{Path: m.at.String(), Msg: fmt.Sprintf(format, most), TooMuch: true}
}

// wrong returns an error at the current place of the walk.
func (m *merger) wrong(format string, args ...any) error {
	return &MergeError{Path: m.at.String(), Msg: fmt.Sprintf(format, args...)}
}
