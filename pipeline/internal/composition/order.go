package composition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// firstNode is the position of a Composition's imports.
func firstNode(c *composition) *yaml.Node {
	key, _ := c.Doc.Field(importsField)
	return key
}

// sort orders transformers so that the order of every import and of the Composition itself is kept:
// prepended ones come before its own, appended ones after. Otherwise they keep the order in which
// they are imported. Only for a transformer that is imported in several ways this is more than
// joining lists: KEP-2299, "Composition evaluation", sorts topologically.
func (c *composition) sort(all []*Transformer, before, after [][]*Transformer) ([]*Transformer, error) {
	at := make(map[identity]int, len(all))
	for i, t := range all {
		at[t.identity()] = i
	}
	g := newOrdering(len(all))
	place := func(t *Transformer) int { return at[t.identity()] }
	for _, list := range slices.Concat(before, [][]*Transformer{c.transformers}, after) {
		for i := 1; i < len(list); i++ {
			g.precedes(place(list[i-1]), place(list[i]))
		}
	}
	// Its own transformers are between prepended and appended ones. If it has none, a border is
	// there, and a transformer on both sides is not bound to it.
	from, to, both := g.border(), g.border(), [2][][]*Transformer{after, before}
	if n := len(c.transformers); n > 0 {
		from, to, both = place(c.transformers[0]), place(c.transformers[n-1]), [2][][]*Transformer{}
	}
	bind(before, both[0], func(t *Transformer) { g.precedes(place(t), from) })
	bind(reversed(after), both[1], func(t *Transformer) { g.precedes(to, place(t)) })
	order := g.sorted()
	if len(order) < len(all) {
		return nil, c.contradiction(all, g.waits)
	}
	sorted := make([]*Transformer, len(all))
	for i, j := range order {
		sorted[i] = all[j]
	}
	return sorted, nil
}

// bind calls do for the last of each list that is in none of the others.
func bind(lists, others [][]*Transformer, do func(*Transformer)) {
	shared := map[identity]bool{}
	for _, list := range others {
		for _, t := range list {
			shared[t.identity()] = true
		}
	}
	for _, list := range lists {
		for i := len(list) - 1; i >= 0; i-- {
			if !shared[list[i].identity()] {
				do(list[i])
				break
			}
		}
	}
}

func reversed(lists [][]*Transformer) [][]*Transformer {
	out := make([][]*Transformer, len(lists))
	for i, list := range lists {
		out[i] = slices.Clone(list)
		slices.Reverse(out[i])
	}
	return out
}

// ordering has which elements come before which, with one border between them.
type ordering struct {
	next  [][]int // the elements that come later
	waits []int   // the number of elements that come before
}

func newOrdering(n int) *ordering {
	return &ordering{next: make([][]int, n+1), waits: make([]int, n+1)}
}

// border is a place that elements come before or after.
func (g *ordering) border() int { return len(g.next) - 1 }

func (g *ordering) precedes(a, b int) {
	g.next[a] = append(g.next[a], b)
	g.waits[b]++
}

// sorted returns the elements in a valid order, the first ones first if there are several. It omits
// elements for which there is no order.
func (g *ordering) sorted() []int {
	var ready, sorted []int
	for i, n := range g.waits {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		if i != g.border() {
			sorted = append(sorted, i)
		}
		for _, j := range g.next[i] {
			if g.waits[j]--; g.waits[j] == 0 {
				k, _ := slices.BinarySearch(ready, j)
				ready = slices.Insert(ready, k, j)
			}
		}
	}
	return sorted
}

// contradiction returns the error about transformers that have no order.
func (c *composition) contradiction(all []*Transformer, waits []int) error {
	var left []*Transformer
	for i, t := range all {
		if waits[i] > 0 {
			left = append(left, t)
		}
	}
	return c.Doc.Errorf(firstNode(c), "the imports want different orders of %s: say which by %s", listTransformers(left), orderField)
}

// reorder orders the transformers by transformerOrder, which must name each of them once.
func (c *composition) reorder(all []*Transformer) ([]*Transformer, error) {
	sorted := make([]*Transformer, 0, len(all))
	first := map[*Transformer]orderEntry{}
	byName := make(map[string][]*Transformer, len(all))
	for _, t := range all {
		byName[t.Name] = append(byName[t.Name], t)
	}
	var errs []error
	for _, e := range c.order {
		t, err := c.named(e, byName)
		if err != nil {
			if errs = append(errs, err); len(errs) == MostErrors {
				return nil, errors.Join(errs...)
			}
			continue
		}
		if before, twice := first[t]; twice {
			errs = append(errs, c.Doc.Errorf(e.node, "%s names %s twice (first on line %d)", orderField, t.identity(), before.node.Line))
			continue
		}
		first[t] = e
		sorted = append(sorted, t)
	}
	var missing []*Transformer
	for _, t := range all {
		if _, ok := first[t]; !ok {
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		key, _ := c.Doc.Field(orderField)
		errs = append(errs, c.Doc.Errorf(key, "%s has to name every transformer, and leaves out %s", orderField, listTransformers(missing)))
	}
	return sorted, errors.Join(errs...)
}

// effective returns a namespace as it is in identities.
func effective(namespace string) string {
	if namespace == resid.DefaultNamespace {
		return ""
	}
	return namespace
}

// named returns the one transformer that an entry of transformerOrder names.
func (c *composition) named(e orderEntry, byName map[string][]*Transformer) (*Transformer, error) {
	asks := func(asked, is string) bool { return asked == "" || asked == is }
	var found []*Transformer
	for _, t := range byName[e.name] {
		id := t.identity()
		if asks(e.kind, id.kind) && asks(e.apiVersion, id.apiVersion) && (e.namespace == "" || effective(e.namespace) == id.namespace) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, c.Doc.Errorf(e.node, "%s names %s, and there is no such transformer%s", orderField, e, source.DidYouMean(e.name, slices.Sorted(maps.Keys(byName))))
	}
	var which []string
	for _, t := range found[:min(len(found), MostErrors)] {
		which = append(which, fmt.Sprintf("%s (%s)", t.identity(), t.ID.APIVersion()))
	}
	return nil, c.Doc.Errorf(e.node, "%s names %s, which is each of %s: say its kind, apiVersion or namespace too", orderField, e, strings.Join(which, ", "))
}

// String names the transformer of an entry.
func (e orderEntry) String() string {
	s := e.name
	if e.namespace != "" {
		s = e.namespace + "/" + s
	}
	if e.kind != "" {
		s = e.kind + " " + s
	}
	if e.apiVersion != "" {
		s = e.apiVersion + " " + s
	}
	return s
}
