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

// The limits for small input that causes much work: each level of files that names the next level
// twice doubles the work. Real targets stay far below the limits.
const (
	maxRepeated   = 1 << 13 // transformers written again, if several lists name their Composition
	maxVisits     = 1 << 13 // kustomizations, counted each time that kustomize reads one
	maxComponents = 20      // levels of nesting: each doubles the text of kustomize's error
	maxEvaluated  = 1 << 9  // directories of function configs, counted each time they are evaluated
	maxList       = 500     // transformers in one virtual Component
)

// bounded refuses a tree in which many levels name the next kustomization twice, so that kustomize
// would not end. It also refuses a tree so deep that kustomize could not report an error in it.
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

// placeOf returns the path that the user knows for a directory that kustomize sees.
func (p *plan) placeOf(root string) string {
	if of, ours := p.virtual[root]; ours {
		return of.Display
	}
	if k, ok := p.kustomizations[root]; ok {
		return k.Display
	}
	return p.display()
}

// tree counts the directories that kustomize will read.
type tree struct {
	plan  *plan
	known map[string]*extent
}

// extent is the size of a directory with everything below it.
type extent struct{ visits, components int }

// extent counts what is below a directory, once for each directory.
func (t *tree) extent(root string) extent {
	if e, ok := t.known[root]; ok {
		return *e // in a cycle, the count so far: kustomize refuses the cycle
	}
	e := &extent{visits: 1}
	t.known[root] = e
	var k struct{ Resources, Bases, Components []string }
	for _, name := range source.KustomizationNames() {
		if json.Unmarshal(t.plan.overlay.Files[filepath.Join(root, name)], &k) == nil {
			break
		}
	}
	resources := slices.Concat(k.Resources, k.Bases) // kustomize joins both lists
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

// writing records the transformers that are being written, and those that were. Each is identified
// by its declaration, because one Composition imports them from another.
type writing struct {
	stack    []*composition.Transformer
	done     map[*composition.Transformer]bool
	repeated int
}

// begin records that a transformer is being written, and refuses one that is already being written:
// its Composition is resolved already, so that writing it would never end.
func (w *writing) begin(t *composition.Transformer) (end func(), err error) {
	t = t.Declared
	if i := slices.Index(w.stack, t); i >= 0 {
		var cycle []string
		for _, o := range append(slices.Clone(w.stack[i:]), t) {
			cycle = append(cycle, o.Position())
		}
		return nil, t.Errorf(t.Document.Node, "cycle: %s", strings.Join(cycle, " → "))
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
