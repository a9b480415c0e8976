package pipeline

import (
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// misrememberedFile finds a user's resource on which kustomize would give up: it does not
// say which one it was.
func (p *plan) misrememberedFile() error {
	for _, dir := range slices.Sorted(maps.Keys(p.layers)) {
		l := p.layers[dir]
		for _, path := range l.kust.Resources {
			if err := p.misrememberedIn(p.refIn(l, path)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *plan) misrememberedIn(f fileRef) error {
	real, err := p.confine(f)
	if err != nil {
		return nil //nolint:nilerr // kustomize got further than that: it is something else
	}
	docs, err := p.resources(real, f.place().display)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	for _, d := range docs {
		n := yaml.NewRNode(d.node)
		if why := misremembered(n); why != "" {
			return d.errorf(d.node, "%s: %s", idOf(n), why)
		}
	}
	return nil
}
