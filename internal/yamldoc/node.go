package yamldoc

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Field returns the value of a mapping's key, nil for none. It works on the node: the
// RNode's way compiles a filter for each look.
func Field(m *yaml.Node, key string) *yaml.Node {
	if i := FieldIndex(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// FieldIndex returns where in Content a mapping's key stands, -1 for nowhere.
func FieldIndex(m *yaml.Node, key string) int {
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

// IsNull reports whether a node is none, or null.
func IsNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

// Text makes a plain string node.
func Text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
}
