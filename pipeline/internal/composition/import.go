package composition

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Limits for short input with large effects.
const (
	maxImported  = 1 << 20 // imported transformers, counted at each import
	maxOverrides = 1 << 8  // of one transformer
	MostErrors   = 10      // of one kind, because finding each means comparing it with all
)

// takes counts the transformers of an import.
func (r *Reader) takes(c *composition, in imported, from *Resolved) error {
	if r.taken += len(from.List); r.taken > maxImported {
		return c.Doc.TooMuch(in.node, "imports of imports bring more than %d transformers", maxImported)
	}
	return nil
}

// FunctionsOnly reports whether no transformer needs kustomize.
func (l *Resolved) FunctionsOnly() bool {
	return !slices.ContainsFunc(l.List, func(t *Transformer) bool { return t.Builtin || t.IsKustomization() })
}

// Resolved is a Composition whose imports are resolved, with overrides and order (KEP-2299,
// "Composition evaluation").
type Resolved struct {
	Of       *composition
	List     []*Transformer
	Catalogs []fnconfig.CatalogRef
}

// Reader reads Compositions, each once.
type Reader struct {
	*source.Reader
	*fnconfig.Paths
	*source.Stack
	read  map[string]*Resolved // by the real file
	taken int                  // imported transformers, counted at each import
}

// NewReader returns a Reader of the Compositions among the files of a source.Reader.
func NewReader(r *source.Reader) *Reader {
	return &Reader{Reader: r, Paths: fnconfig.NewPaths(), Stack: &source.Stack{}, read: map[string]*Resolved{}}
}

// importFrom returns the Composition that a path names: a file, or a directory with one.
func (r *Reader) importFrom(ctx context.Context, c *composition, in imported) (*Resolved, error) {
	f := source.FileRef{Written: in.path, At: c.at, Where: c.Doc.Where(in.node)}
	if err := source.OwnName(f.Where, f.Written); err != nil {
		return nil, err
	}
	if err := r.NotRemote(f, "remote Compositions are not supported yet"); err != nil {
		return nil, err
	}
	at := f.Place()
	if !r.FS.Exists(at.Dir) {
		return nil, f.Missing()
	}
	if r.FS.IsDir(at.Dir) {
		dir, err := source.ConfirmDir(r.FS, at.Dir)
		if err != nil {
			return nil, err
		}
		at = source.Place{Dir: dir, Display: at.Display}
		name, err := source.CompositionIn(r.FS, at)
		if err == nil && name == "" {
			err = f.Errorf("%s holds no %s: an import is a Composition; the resources of a Kustomization come by a ResourceAccumulator", in.path, source.CompositionFile)
		}
		if err != nil {
			return nil, err
		}
		return r.Resolve(ctx, at, name)
	}
	if !slices.Contains(source.CompositionNames(), filepath.Base(at.Dir)) {
		// The load restrictor permits only the file of the Composition in a directory.
		if _, err := r.Confine(f); err != nil {
			return nil, err
		}
	}
	dir, err := source.ConfirmDir(r.FS, filepath.Dir(at.Dir))
	if err != nil {
		return nil, err
	}
	from := source.Place{Dir: dir, Display: filepath.Dir(at.Display)}
	if slices.Contains(source.CompositionNames(), filepath.Base(at.Dir)) {
		if _, err := source.CompositionIn(r.FS, from); err != nil {
			return nil, err
		}
	}
	return r.Resolve(ctx, from, filepath.Base(at.Dir))
}

// Resolve reads a Composition and everything that it imports. A Composition that several others
// import is read once.
func (r *Reader) Resolve(ctx context.Context, at source.Place, name string) (*Resolved, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file := source.Place{Dir: filepath.Join(at.Dir, name), Display: filepath.Join(at.Display, name)}
	if dir, real, err := r.FS.CleanedAbs(file.Dir); err == nil && real != "" {
		file.Dir = dir.Join(real) // after links are resolved: one file is one Composition
	}
	if done, ok := r.read[file.Dir]; ok {
		return done, nil
	}
	leave, err := r.Enter(file)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := r.readComposition(at, name)
	if err != nil {
		return nil, err
	}
	line, err := r.ResolveImports(ctx, c)
	if err != nil {
		return nil, err
	}
	r.read[file.Dir] = line
	return line, nil
}

// ResolveImports resolves the imports of a Composition: it applies the overrides to the imported
// transformers, adds its own ones, and determines the order.
func (r *Reader) ResolveImports(ctx context.Context, c *composition) (*Resolved, error) {
	var before, after [][]*Transformer
	var errs []error
	line := &Resolved{Of: c, Catalogs: slices.Clone(c.catalogs)}
	for _, in := range c.imports {
		from, err := r.importFrom(ctx, c, in)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := r.takes(c, in, from); err != nil {
			return nil, err
		}
		if in.mode == appendMode {
			after = append(after, from.List)
		} else {
			before = append(before, from.List)
		}
		line.AddCatalogs(from.Catalogs)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	before, after, err := c.override(before, after)
	if err != nil {
		return nil, err
	}
	lists := append(append(slices.Clone(before), c.transformers), after...)
	all, err := c.join(lists)
	if err != nil {
		return nil, err
	}
	if order := yamldoc.Field(c.Doc.Node, orderField); !yamldoc.IsNull(order) {
		line.List, err = c.reorder(all)
		return line, err
	}
	line.List, err = c.sort(all, before, after)
	return line, err
}

// AddCatalogs adds the catalogs of an import at the end: a Composition has the union of them
// (KEP-2906).
func (l *Resolved) AddCatalogs(refs []fnconfig.CatalogRef) {
	for _, r := range refs {
		same := func(o fnconfig.CatalogRef) bool { return o.Declared == r.Declared && o.Dir == r.Dir }
		if !slices.ContainsFunc(l.Catalogs, same) {
			l.Catalogs = append(l.Catalogs, r)
		}
	}
}

// listTransformers names transformers in messages.
func listTransformers(ts []*Transformer) string {
	var out []string
	for i, t := range ts {
		if i == MostErrors {
			out = append(out, fmt.Sprintf("and %d more", len(ts)-MostErrors))
			break
		}
		out = append(out, t.identity().String())
	}
	return strings.Join(out, ", ")
}

// join joins lists. A transformer that is imported in two ways (a diamond) is kept once if both are
// equal. Two different ones with the same identity are an error.
func (c *composition) join(lists [][]*Transformer) ([]*Transformer, error) {
	var all []*Transformer
	seen := map[identity]*Transformer{}
	var errs []error
	for _, t := range slices.Concat(lists...) {
		id := t.identity()
		before, twice := seen[id]
		switch {
		case !twice:
			seen[id] = t
			all = append(all, t)
		case before.Declared != t.Declared:
			errs = append(errs, t.Errorf(t.Document.Node, "%s stands twice in %s (first at %s): give one of them another metadata.name",
				id, c.Doc.File, before.Position()))
		case !slices.Equal(before.over, t.over):
			errs = append(errs, c.Doc.Errorf(firstNode(c), "%s (%s) is imported twice, and not the same: once %s, once %s. "+
				"Let both ways import one Composition that overrides it, or accumulate the two as resources (ResourceAccumulator)",
				id, t.Position(), before.overriddenAt(), t.overriddenAt()))
		}
	}
	return all, errors.Join(errs...)
}

// overriddenAt lists the positions of a transformer's overrides.
func (t *Transformer) overriddenAt() string {
	if len(t.over) == 0 {
		return "as it is declared"
	}
	var places []string
	for _, o := range t.over {
		places = append(places, o.Position())
	}
	return "overridden at " + strings.Join(places, " and ")
}
