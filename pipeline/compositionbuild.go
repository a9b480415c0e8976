package pipeline

import (
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// accumulate appends the resources of files. A resource that is there already is an error,
// as in kustomize.
func (t *target) accumulate(items []*yaml.RNode, files []source.FileRef) ([]*yaml.RNode, error) {
	seen := make(map[resource.ID]bool, len(items))
	for _, n := range items {
		seen[resource.IDOf(n)] = true
	}
	for _, f := range files {
		docs, err := t.Resources(f)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			n := yaml.NewRNode(d.Node)
			id := resource.IDOf(n)
			if id.Kind == "" || id.Name == "" {
				return nil, d.Errorf(d.Node, "a resource needs a kind and a metadata.name")
			}
			if seen[id] {
				return nil, d.Errorf(d.Node, "%s is there already", id)
			}
			seen[id] = true
			items = append(items, n)
		}
	}
	return items, nil
}
