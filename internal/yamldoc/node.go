package yamldoc

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Field returns the value of a field of a mapping, nil for none. It works on nodes: for an RNode,
// each lookup compiles a filter.
func Field(m *yaml.Node, key string) *yaml.Node {
	if i := FieldIndex(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// FieldIndex returns the index in Content of the key of a field, -1 for none.
func FieldIndex(m *yaml.Node, key string) int {
	if m == nil || m.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k != nil && k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// IsNull reports whether a node is null in any spelling, or nil.
func IsNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

// Text returns a string node.
func Text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
}

// Describe returns the type of a node for a message: "a mapping".
func Describe(n *yaml.Node) string {
	switch {
	case n == nil:
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Kind != yaml.ScalarNode:
		return "a node of an unknown kind"
	}
	switch n.ShortTag() {
	case yaml.NodeTagString:
		return "a string"
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		return "a number"
	case yaml.NodeTagBool:
		return "a boolean"
	case yaml.NodeTagNull:
		return "null"
	case "!!timestamp":
		return "a date"
	}
	return "a value of type " + Quote(n.ShortTag())
}
