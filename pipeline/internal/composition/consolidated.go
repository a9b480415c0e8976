package composition

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Consolidated is a Composition with everything that it imports (KEP-2299, "Composition
// evaluation"). Its relative paths are relative to the directory of the Composition, so that it can
// replace the Composition there.
type Consolidated struct {
	File         string                    // of the Composition, in its directory
	Transformers []ConsolidatedTransformer // in the order in which they run
	Catalogs     []string                  // the search path of functions, in order
	// Sources are the Composition itself, and then all Compositions that it imports at any depth,
	// each once.
	Sources []SourceFile
	// Outside is set if it names files that the load restrictor does not permit in this directory.
	Outside bool

	at       source.Place
	from     *Reader
	metadata *yaml.Node // of the Composition, nil for none
}

// ConsolidatedTransformer is one transformer of a consolidated Composition.
type ConsolidatedTransformer struct {
	APIVersion, Kind, Namespace, Name string
	From                              string   // file:line, relative to the directory of the Composition
	Overridden                        []string // the same, of each override in the order in which they apply
	// Step is the function; nil for a builtin.
	Step *fnconfig.Step

	of     *Transformer
	config fnconfig.Config // with its overrides, if there is no Step
}

// String names the transformer in messages.
func (t ConsolidatedTransformer) String() string {
	return identity{t.APIVersion, t.Kind, t.Namespace, t.Name}.String()
}

// Consolidate reads the Composition in dir and everything that it imports. It runs nothing. If the
// config of a Step depends on the function's schema (Step.SchemaMatters), the caller must replace
// the Step by one that was merged with the schema.
func Consolidate(ctx context.Context, r *source.Reader, dir string) (*Consolidated, error) {
	at, err := source.TargetDir(r.FS, dir)
	if err != nil {
		return nil, err
	}
	name, err := source.CompositionIn(r.FS, at)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if found := source.KindsIn(r.FS, at.Dir).Kustomization; len(found) > 0 {
			return nil, &source.SyntaxError{Where: filepath.Join(at.Display, found[0]), Msg: "it is no Composition: there is nothing to consolidate"}
		}
		return nil, &source.SyntaxError{Where: dir, Msg: "there is no " + source.CompositionFile, Kind: failure.NotFound}
	}
	from := NewReader(r)
	line, err := from.Resolve(ctx, at, name)
	if err != nil {
		return nil, err
	}
	c := &Consolidated{File: name, at: at, from: from, metadata: yamldoc.Field(line.Of.Doc.Node, "metadata")}
	if err := c.addTransformers(line); err != nil {
		return nil, err
	}
	if err := c.addSources(ctx, line); err != nil {
		return nil, err
	}
	for _, ref := range line.Catalogs {
		moved, err := c.mover(source.Place{Dir: ref.Dir}).place(ref.Declared)
		if err != nil {
			return nil, &source.SyntaxError{Where: ref.Where, Msg: err.Error()}
		}
		if !slices.Contains(c.Catalogs, moved) {
			c.Catalogs = append(c.Catalogs, moved)
		}
	}
	_, err = c.object() // it sets Outside
	return c, err
}

func (c *Consolidated) addTransformers(line *Resolved) error {
	var errs []error
	for _, t := range line.List {
		id := t.identity()
		one := ConsolidatedTransformer{
			APIVersion: id.apiVersion, Kind: id.kind, Namespace: id.namespace, Name: id.name,
			From: c.where(t), of: t,
		}
		for _, o := range t.over {
			one.Overridden = append(one.Overridden, c.where(o))
		}
		var err error
		if t.Builtin || t.IsKustomization() {
			one.config, err = t.Final()
		} else {
			var step fnconfig.Step
			step, err = t.Step(line.Catalogs)
			one.Step = &step
		}
		errs = append(errs, err)
		c.Transformers = append(c.Transformers, one)
	}
	return errors.Join(errs...)
}

// where returns the position of a config, relative to the directory of the Composition.
func (c *Consolidated) where(t *Transformer) string {
	return source.Document{File: c.fromHere(t.Config.File)}.Where(t.Document.Node)
}

// fromHere returns the path of a file relative to the directory of the Composition.
func (c *Consolidated) fromHere(file string) string {
	rel, err := filepath.Rel(c.at.Display, file)
	if err != nil { // one of them is absolute
		rel = file
	}
	return filepath.ToSlash(rel)
}

// mover returns what moves the paths of another directory to that of the Composition.
func (c *Consolidated) mover(from source.Place) *mover {
	return &mover{Reader: c.from, from: from, to: c.at.Dir, outside: &c.Outside}
}

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

// addSources sets the sources of the transformers.
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
