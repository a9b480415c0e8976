package rewrite

import (
	"maps"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
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

func (p *plan) misrememberedIn(f source.FileRef) error {
	real, err := p.Confine(f)
	if err != nil {
		return nil //nolint:nilerr // kustomize got further than that: it is something else
	}
	docs, err := p.Resources(real, f.Place().Display)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	for _, d := range docs {
		n := yaml.NewRNode(d.Node)
		if why := resource.Misremembered(n); why != "" {
			return d.Errorf(d.Node, "%s: %s", resource.IDOf(n), why)
		}
	}
	return nil
}
