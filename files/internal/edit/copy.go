package edit

import (
	"bytes"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Lines returns a text with the line ends of Unix, as the parser and this package read it.
func Lines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// Copy copies a tree. Aliases in it refer to the copies of their anchors.
func Copy(n *yaml.Node) *yaml.Node {
	c := copier{}
	return c.copy(n)
}

type copier map[*yaml.Node]*yaml.Node

func (c copier) copy(n *yaml.Node) *yaml.Node {
	made := *n
	if n.Anchor != "" {
		c[n] = &made
	}
	if n.Alias != nil {
		if to, ok := c[n.Alias]; ok {
			made.Alias = to
		}
	}
	if len(n.Content) > 0 {
		made.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			made.Content[i] = c.copy(child)
		}
	}
	return &made
}
