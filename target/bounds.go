package target

import (
	"slices"
	"strings"
)

// The bounds of what a few lines may ask for. Each level of files that names the next one
// twice doubles the work; what people write stays far below.
const (
	maxRepeated  = 1 << 13 // transformers written again, for another list that names their Composition
	maxImported  = 1 << 20 // transformers that imports bring, each time they do
	maxOverrides = 1 << 8  // of one transformer
	mostErrors   = 10      // of one kind, where each of them looks at everything
)

// takes counts what an import brings.
func (p *plan) takes(c *composition, in imported, from *pipeline) error {
	if p.imported += len(from.list); p.imported > maxImported {
		return c.doc.errorf(in.node, "imports of imports bring more than %d transformers", maxImported)
	}
	return nil
}

// writing is what is being written, and what was: transformers as they are declared, since
// one pipeline takes them from another.
type writing struct {
	stack    []*transformer
	done     map[*transformer]bool
	repeated int
}

// begin remembers that a transformer is being written, so that nothing in it can ask for it
// again: its Composition is consolidated already, and would be written without end.
func (w *writing) begin(t *transformer) (end func(), err error) {
	t = t.declared
	if i := slices.Index(w.stack, t); i >= 0 {
		var way []string
		for _, o := range append(slices.Clone(w.stack[i:]), t) {
			way = append(way, o.position())
		}
		return nil, t.errorf(t.document.node, "cycle: %s", strings.Join(way, " → "))
	}
	if w.done[t] {
		w.repeated++
	}
	if w.repeated > maxRepeated {
		return nil, t.errorf(t.document.node, "it is listed again and again: Compositions that list others make more than %d transformers", maxRepeated)
	}
	if w.done == nil {
		w.done = map[*transformer]bool{}
	}
	w.done[t] = true
	w.stack = append(w.stack, t)
	return func() { w.stack = w.stack[:len(w.stack)-1] }, nil
}
