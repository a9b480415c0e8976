package annotation

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// File says where a resource stands, as it is written: the path of its file, relative and with
// slashes, and the number of its document there, from 0. Without a path it is no file.
type File struct{ Path, Index string }

// FileOf returns the file that a resource names. Of two names of an annotation the current one
// counts.
func FileOf(resource *yaml.Node) File {
	a := Of(resource)
	f := File{Path: Text(a, Path), Index: Text(a, Index)}
	if f.Path == "" {
		f.Path = Text(a, LegacyPath)
	}
	if f.Index == "" {
		f.Index = Text(a, LegacyIndex)
	}
	return f
}

// SetFile makes a resource name a file by the current names alone: fnexec shows a function both.
// For the zero value it names none, and annotations that are empty then are removed. A resource
// whose annotations are not a mapping stays as it is.
func SetFile(resource *yaml.Node, f File) {
	if a := Of(resource); a != nil {
		had := len(a.Content)
		for _, key := range []string{Path, LegacyPath, Index, LegacyIndex} {
			Remove(a, key)
		}
		if had > 0 && len(a.Content) == 0 && f.Path == "" {
			Remove(yamldoc.Field(resource, "metadata"), "annotations")
		}
	}
	if f.Path == "" {
		return
	}
	a := mapping(mapping(resource, "metadata"), "annotations")
	if a == nil {
		return
	}
	a.Content = append(a.Content, yamldoc.Text(Path), quoted(f.Path))
	if f.Index != "" {
		a.Content = append(a.Content, yamldoc.Text(Index), quoted(f.Index))
	}
}

// mapping returns a field that is a mapping, and creates it if there is none; nil if the field is
// something else.
func mapping(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	i := yamldoc.FieldIndex(n, name)
	switch {
	case i < 0:
		n.Content = append(n.Content, yamldoc.Text(name), m)
	case n.Content[i+1].Kind == yaml.MappingNode:
		if m = n.Content[i+1]; len(m.Content) == 0 {
			m.Style &^= yaml.FlowStyle
		}
	case !yamldoc.IsNull(n.Content[i+1]):
		return nil
	default:
		n.Content[i+1] = m
	}
	return m
}

// quoted returns a text that every reader takes for one: an index is no number.
func quoted(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s, Style: yaml.SingleQuotedStyle}
}
