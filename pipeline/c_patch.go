package pipeline

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkOverride refuses overrides of what tells a transformer from others.
func (c functionConfig) checkOverride() error {
	if _, v := c.field("metadata"); v != nil && isNull(v) {
		return c.errorf(v, "an override cannot take away the metadata: the name is there")
	}
	return nil
}

// patchDirective says in an override how it is laid over what is there.
const patchDirective = "$patch"

// plain is a config without the directives of overrides, for those who know only fields.
// openapi.Merge refuses them where they have no meaning.
func (c functionConfig) plain() functionConfig {
	c = c.copied()
	withoutDirectives(c.document.node)
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

// copied is a config that can be changed.
func (c functionConfig) copied() functionConfig {
	c.node = c.node.Copy()
	c.document.node = c.node.YNode()
	return c
}

// take removes a top-level field, and returns its value; nil where it is not there.
func (c functionConfig) take(name string) *yaml.Node {
	n := c.document.node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			value := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return value
		}
	}
	return nil
}

// nameListAs writes the list of an accumulator under the name that another config has for it.
func (c functionConfig) nameListAs(base functionConfig) {
	if !slices.Contains(resourceKinds(), c.id.Kind) {
		return
	}
	for _, names := range [][2]string{{"files", "paths"}, {"paths", "files"}} {
		if key, _ := c.field(names[0]); key != nil && valueOf(base.document.node, names[1]) != nil && valueOf(c.document.node, names[1]) == nil {
			key.Value = names[1]
			return
		}
	}
}
