package render

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// YAML prints resources as `kustomize build` does: sorted keys, documents separated by
// `---`.
func YAML(items []*yaml.RNode) ([]byte, error) {
	var out bytes.Buffer
	for i, n := range items {
		text, err := document(n)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func document(n *yaml.RNode) ([]byte, error) {
	j, err := n.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("printing %s %s: %w", n.GetKind(), n.GetName(), err)
	}
	text, err := k8syaml.JSONToYAML(j)
	if err != nil {
		return nil, fmt.Errorf("printing %s %s: %w", n.GetKind(), n.GetName(), err)
	}
	return text, nil
}
