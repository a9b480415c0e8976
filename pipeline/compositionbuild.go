package pipeline

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// accumulate appends the resources of files. A resource that is there already is an error,
// as in kustomize.
func (t *target) accumulate(items []*yaml.RNode, files []fileRef) ([]*yaml.RNode, error) {
	seen := make(map[resourceID]bool, len(items))
	for _, n := range items {
		seen[idOf(n)] = true
	}
	for _, f := range files {
		docs, err := t.Resources(f)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			n := yaml.NewRNode(d.node)
			id := idOf(n)
			if id.Kind == "" || id.name == "" {
				return nil, d.errorf(d.node, "a resource needs a kind and a metadata.name")
			}
			if seen[id] {
				return nil, d.errorf(d.node, "%s is there already", id)
			}
			seen[id] = true
			items = append(items, n)
		}
	}
	return items, nil
}
