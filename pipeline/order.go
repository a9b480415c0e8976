package pipeline

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// orderKey is the annotation in which a resource carries its place through kustomize.
const orderKey = "internal.config.kubernetes.io/krmcat-order"

// order keeps the order of resources that a Step of a run dropped and a later one brought back. They
// come last then, but kustomize, which sees only the end of the run, leaves them where they were. All
// that such a run returns is marked with its place, and is put in order by the marks when kustomize
// hands it over again, and at the end. No function and no user sees a mark.
type order struct{ runs int } // that brought resources back

// mark is the place of a resource in what a run returned.
type mark struct{ run, at int }

// restore takes the marks off some resources. Those of one run it puts in order, in the places
// that they have among all.
func (o *order) restore(items []*yaml.RNode, sorted bool) (map[resource.ID]mark, error) {
	if o.runs == 0 {
		return nil, nil //nolint:nilnil // nothing is marked, and nil is that
	}
	marks := map[resource.ID]mark{}
	type marked struct {
		at   int
		item *yaml.RNode
	}
	byRun := map[int][]marked{}
	places := map[int][]int{}
	for i, n := range items {
		var m mark
		text, ok := n.GetAnnotations(orderKey)[orderKey]
		if _, err := fmt.Sscanf(text, "%d.%d", &m.run, &m.at); !ok || err != nil {
			continue
		}
		if err := resource.Clean(n, func(key string) bool { return key == orderKey }); err != nil {
			return nil, err
		}
		marks[resource.IDOf(n)] = m
		byRun[m.run] = append(byRun[m.run], marked{m.at, n})
		places[m.run] = append(places[m.run], i)
	}
	for run, group := range byRun {
		slices.SortStableFunc(group, func(a, b marked) int { return a.at - b.at })
		for i, at := range places[run] {
			if !sorted {
				items[at] = group[i].item
			}
		}
	}
	return marks, nil
}

// keep marks what a run returns: with the marks that it came with, or anew where the run brought
// resources back.
func (o *order) keep(items []*yaml.RNode, marks map[resource.ID]mark, back bool) error {
	if back {
		o.runs++
	}
	for i, n := range items {
		m, ok := marks[resource.IDOf(n)]
		if back {
			m, ok = mark{o.runs, i}, true
		}
		if !ok {
			continue
		}
		if err := n.PipeE(yaml.SetAnnotation(orderKey, fmt.Sprintf("%d.%d", m.run, m.at))); err != nil {
			return fmt.Errorf("writing the annotation %s: %w", orderKey, err)
		}
	}
	return nil
}
