package composition

import (
	"context"
)

// SourceFile is a Composition that is part of a consolidated one. Numbers are indexes: of
// Consolidated.Sources, or of Consolidated.Transformers.
type SourceFile struct {
	File         string // relative to the directory of the consolidated Composition
	Imports      []Import
	Transformers []int // those that it declares, in the order in which they run
	Overrides    []int // those that it overrides, in the same order
}

// Import is an entry of transformersFrom.
type Import struct {
	Source int
	Mode   string // prepend or append
}

// addSources sets where the transformers are from.
func (c *Consolidated) addSources(ctx context.Context, line *Resolved) error {
	w := sourceWalk{of: c, known: map[*composition]int{}, lists: map[*Transformer]int{}}
	if _, err := w.add(ctx, line.Of); err != nil {
		return err
	}
	for i, t := range c.Transformers {
		s := &c.Sources[w.lists[t.of.Declared]]
		s.Transformers = append(s.Transformers, i)
		for _, o := range t.of.over {
			s := &c.Sources[w.lists[o]]
			if n := len(s.Overrides); n == 0 || s.Overrides[n-1] != i {
				s.Overrides = append(s.Overrides, i)
			}
		}
	}
	return nil
}

// sourceWalk visits the imports of a Composition.
type sourceWalk struct {
	of    *Consolidated
	known map[*composition]int
	lists map[*Transformer]int // which Composition lists a transformer, or an override
}

func (w *sourceWalk) add(ctx context.Context, c *composition) (int, error) {
	if i, ok := w.known[c]; ok {
		return i, nil
	}
	i := len(w.of.Sources)
	w.known[c] = i
	w.of.Sources = append(w.of.Sources, SourceFile{File: w.of.fromHere(c.Doc.File)})
	for _, t := range c.transformers {
		w.lists[t] = i
	}
	for _, o := range c.overrides {
		w.lists[o] = i
	}
	for _, in := range c.imports {
		line, err := w.of.from.importFrom(ctx, c, in) // it was read before
		if err != nil {
			return i, err
		}
		j, err := w.add(ctx, line.Of)
		if err != nil {
			return i, err
		}
		w.of.Sources[i].Imports = append(w.of.Sources[i].Imports, Import{Source: j, Mode: string(in.mode)})
	}
	return i, nil
}
