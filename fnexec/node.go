package fnexec

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The bounds on what is parsed. A document that somebody wrote stays far below.
const (
	maxDepth    = 500       // of nesting
	maxExpanded = 1_000_000 // nodes that aliases may add
)

var errTooDeep = fmt.Errorf("it is nested more than %d deep", maxDepth)

// errAliases is what an alias bomb gives.
var errAliases = errors.New("its aliases stand for too much")

// field returns the value of a mapping's key, nil for none. It works on the node: the
// RNode's way compiles a filter for each look.
func field(m *yaml.Node, key string) *yaml.Node {
	if i := fieldIndex(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// fieldIndex returns where in Content a mapping's key stands, -1 for nowhere.
func fieldIndex(m *yaml.Node, key string) int {
	if m == nil || m.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key && m.Content[i].Kind == yaml.ScalarNode {
			return i
		}
	}
	return -1
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

// text makes a plain string node.
func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
}

// quoted makes a string node that no reader takes for a number.
func quoted(s string) *yaml.Node {
	n := text(s)
	n.Style = yaml.SingleQuotedStyle
	return n
}

// Flatten makes a tree that somebody else wrote safe to walk, in place: aliases and merge
// keys are replaced by what they stand for, and it is an error for it to be nested too
// deeply, to stand for too much, to contain itself, or to give a key twice.
func Flatten(n *yaml.Node) error {
	f := &flattener{}
	_, err := f.walk(n, 0)
	return err
}

type flattener struct {
	open    map[*yaml.Node]bool // anchored nodes being walked
	copying int                 // how many aliases deep
	added   int
}

func (f *flattener) walk(n *yaml.Node, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if n.Kind == yaml.AliasNode {
		return f.alias(n, depth)
	}
	if f.copying > 0 {
		if f.added++; f.added > maxExpanded {
			return nil, errAliases
		}
		c := *n
		c.Content = append([]*yaml.Node(nil), n.Content...)
		c.Anchor = ""
		n = &c
	} else if n.Anchor != "" {
		if f.open == nil {
			f.open = map[*yaml.Node]bool{}
		}
		f.open[n] = true
		defer delete(f.open, n)
		n.Anchor = ""
	}
	for i, c := range n.Content {
		w, err := f.walk(c, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content[i] = w
	}
	if n.Kind == yaml.MappingNode {
		return n, f.mapping(n)
	}
	return n, nil
}

func (f *flattener) alias(n *yaml.Node, depth int) (*yaml.Node, error) {
	if n.Alias == nil || f.open[n.Alias] {
		return nil, fmt.Errorf("line %d: alias %q stands for something that contains it", n.Line, n.Value)
	}
	f.copying++
	defer func() { f.copying-- }()
	return f.walk(n.Alias, depth)
}

// mapping resolves a mapping's merge key and refuses keys that are given twice.
func (f *flattener) mapping(n *yaml.Node) error {
	var seen map[string]bool
	if len(n.Content) > 32 {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	merge := -1
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is not a scalar", k.Line)
		}
		if k.Tag == yaml.MergeTag {
			if merge >= 0 {
				return fmt.Errorf("line %d: two merge keys in one mapping", k.Line)
			}
			merge = i
			continue
		}
		if seen == nil && fieldIndex(n, k.Value) < i || seen[k.Value] {
			return fmt.Errorf("line %d: the key %q is given twice", k.Line, k.Value)
		}
		if seen != nil {
			seen[k.Value] = true
		}
	}
	if merge < 0 {
		return nil
	}
	return f.merge(n, merge)
}

// merge puts the fields behind a merge key into the mapping. Its own fields win, then
// the earlier source.
func (f *flattener) merge(n *yaml.Node, at int) error {
	value := n.Content[at+1]
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	n.Content = append(n.Content[:at:at], n.Content[at+2:]...)
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		seen[n.Content[i].Value] = true
	}
	for _, s := range sources {
		if s.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: what is merged is not a mapping", s.Line)
		}
		for i := 0; i+1 < len(s.Content); i += 2 {
			if k := s.Content[i]; !seen[k.Value] {
				seen[k.Value] = true
				n.Content = append(n.Content, k, s.Content[i+1])
			}
		}
	}
	return nil
}
