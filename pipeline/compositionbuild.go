package pipeline

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// accumulate appends the resources of files. A resource that is there already is an error,
// as in kustomize.
func (p *plan) accumulate(items []*yaml.RNode, s stage) ([]*yaml.RNode, error) {
	seen := make(map[resourceID]bool, len(items))
	for _, n := range items {
		seen[idOf(n)] = true
	}
	for _, f := range s.files {
		file, err := p.confine(f) // once more: functions ran since this was planned
		if err != nil {
			return nil, err
		}
		docs, err := p.resources(file, f.place().display)
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

// resources reads a file as kustomize does: lists are taken apart, their items come last.
func (p *plan) resources(file, display string) ([]document, error) {
	data, err := disk.Read(p.fsys, file, disk.MaxData)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	queue, err := parseDocuments(display, data)
	if err != nil {
		return nil, err
	}
	var docs []document
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		items, isList, err := d.items()
		if err != nil {
			return nil, err
		}
		if isList {
			queue = append(queue, items...)
			continue
		}
		if d.node.Kind != yaml.MappingNode {
			return nil, d.errorf(d.node, "a resource is a mapping, this is %s", describe(d.node))
		}
		if err := d.wellFormed(); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}
