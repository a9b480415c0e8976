package rewrite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// The limits for input of a few lines that asks for much: each level of files that names the
// next level twice doubles the work. Real targets stay far below.
const (
	maxRepeated   = 1 << 13 // transformers written again, for another list that names their Composition
	maxVisits     = 1 << 13 // of kustomizations, each time kustomize reads one
	maxComponents = 20      // nested: each level doubles the text of an error of kustomize's
	maxEvaluated  = 1 << 9  // directories of function configs, each time they are evaluated
	maxList       = 500     // transformers in one virtual Component
)

// bounded refuses a tree that names the next kustomization twice through many levels, so that
// kustomize would not end, and one so deep that kustomize could not report an error in it.
func (p *plan) bounded(root string) error {
	t := &tree{plan: p, known: map[string]*extent{}}
	all := t.extent(root)
	switch {
	case all.visits > maxVisits:
		return &source.SyntaxError{Where: p.placeOf(root), Msg: fmt.Sprintf("directories name each other as resources again and again: that makes more than %d of them", maxVisits), Kind: failure.Untrusted}
	case all.components > maxComponents:
		return &source.SyntaxError{Where: p.placeOf(root), Msg: fmt.Sprintf("Components and Compositions are nested more than %d levels deep", maxComponents), Kind: failure.Untrusted}
	}
	return nil
}

// placeOf names a directory that kustomize sees as the user knows it.
func (p *plan) placeOf(root string) string {
	if of, ours := p.virtual[root]; ours {
		return of.Display
	}
	if k, ok := p.kustomizations[root]; ok {
		return k.Display
	}
	return p.display()
}

// tree counts what kustomize is going to read.
type tree struct {
	plan  *plan
	known map[string]*extent
}

// extent is how much there is below a directory.
type extent struct{ visits, components int }

func (t *tree) extent(root string) extent {
	if e, ok := t.known[root]; ok {
		return *e // of a cycle, as far as it is known: kustomize refuses it
	}
	e := &extent{visits: 1}
	t.known[root] = e
	var k struct{ Resources, Bases, Components []string }
	for _, name := range source.KustomizationNames() {
		if json.Unmarshal(t.plan.overlay.Files[filepath.Join(root, name)], &k) == nil {
			break
		}
	}
	resources := slices.Concat(k.Resources, k.Bases) // kustomize makes one list of both
	for i, path := range slices.Concat(resources, k.Components) {
		path = filepath.Join(root, path)
		if !t.plan.overlay.IsDir(path) {
			continue
		}
		at, _, err := t.plan.overlay.CleanedAbs(path)
		if err != nil {
			continue
		}
		below := t.extent(at.String())
		if i >= len(resources) {
			below.components++
		}
		e.visits = min(e.visits+below.visits, maxVisits+1)
		e.components = max(e.components, below.components)
	}
	return *e
}

// writing is the transformers that are being written, and those that were. They are identified
// as declared, since one Composition takes them from another.
type writing struct {
	stack    []*composition.Transformer
	done     map[*composition.Transformer]bool
	repeated int
}

// begin records that a transformer is being written, so that nothing in it can ask for it
// again: its Composition is resolved already, and would be written without end.
func (w *writing) begin(t *composition.Transformer) (end func(), err error) {
	t = t.Declared
	if i := slices.Index(w.stack, t); i >= 0 {
		var way []string
		for _, o := range append(slices.Clone(w.stack[i:]), t) {
			way = append(way, o.Position())
		}
		return nil, t.Errorf(t.Document.Node, "cycle: %s", strings.Join(way, " → "))
	}
	if w.done[t] {
		w.repeated++
	}
	if w.repeated > maxRepeated {
		return nil, t.TooMuch(t.Document.Node, "it is listed again and again: Compositions that list others make more than %d transformers", maxRepeated)
	}
	if w.done == nil {
		w.done = map[*composition.Transformer]bool{}
	}
	w.done[t] = true
	w.stack = append(w.stack, t)
	return func() { w.stack = w.stack[:len(w.stack)-1] }, nil
}
