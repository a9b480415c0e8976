package fnconfig

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// CheckOverride refuses overrides of what identifies a transformer.
func (c Config) CheckOverride() error {
	if _, v := c.Field("metadata"); v != nil && yamldoc.IsNull(v) {
		return c.Errorf(v, "an override cannot take away the metadata: the name is there")
	}
	return nil
}

// patchDirective is the field of an override that says how it is merged.
const patchDirective = "$patch"

// plain is the config of an override without directives of merging, for checks that know only
// fields. openapi.Merge refuses directives that have no meaning.
func (c Config) plain() Config {
	c = c.Copied()
	withoutDirectives(c.Document.Node)
	return c
}

func withoutDirectives(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); {
			if n.Content[i].Value == patchDirective {
				n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
				continue
			}
			i += 2
		}
	}
	for _, c := range n.Content {
		withoutDirectives(c)
	}
}

// Copied returns a copy that can be changed.
func (c Config) Copied() Config {
	c.Node = c.Node.Copy()
	c.Document.Node = c.Node.YNode()
	return c
}

// Take removes a top-level field, and returns its value, nil if it is missing.
func (c Config) Take(name string) *yaml.Node {
	n := c.Document.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			value := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return value
		}
	}
	return nil
}

// NameListAs gives the list of an accumulator the name that it has in another config.
func (c Config) NameListAs(base Config) {
	if !slices.Contains(ResourceKinds(), c.ID.Kind) {
		return
	}
	for _, names := range [][2]string{{"files", "paths"}, {"paths", "files"}} {
		if key, _ := c.Field(names[0]); key != nil && yamldoc.Field(base.Document.Node, names[1]) != nil && yamldoc.Field(c.Document.Node, names[1]) == nil {
			key.Value = names[1]
			return
		}
	}
}
