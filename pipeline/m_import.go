package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

const maxImported = 1 << 20 // transformers that imports bring, each time they do

const maxOverrides = 1 << 8 // of one transformer

const mostErrors = 10 // of one kind, where each of them looks at everything

// takes counts what an import brings.
func (r *compositions) takes(c *composition, in imported, from *resolved) error {
	if r.taken += len(from.list); r.taken > maxImported {
		return c.doc.tooMuch(in.node, "imports of imports bring more than %d transformers", maxImported)
	}
	return nil
}

// functionsOnly tells whether nothing of a pipeline needs kustomize.
func (l *resolved) functionsOnly() bool {
	return !slices.ContainsFunc(l.list, func(t *transformer) bool { return t.builtin || t.isKustomization() })
}

// resolved is a consolidated Composition: every import is resolved, with its overrides and
// its order (KEP-2299, "Composition evaluation").
type resolved struct {
	of       *composition
	list     []*transformer
	catalogs []CatalogRef
}

// compositions reads Compositions, each once.
type compositions struct {
	*reader
	*paths
	*stack
	read  map[string]*resolved // by the real file
	taken int                  // transformers that imports brought, counted each time they are
}

func newCompositions(r *reader) *compositions {
	return &compositions{reader: r, paths: newPaths(), stack: &stack{}, read: map[string]*resolved{}}
}

// importFrom finds the Composition that a path names: a file, or a directory with one.
func (r *compositions) importFrom(ctx context.Context, c *composition, in imported) (*resolved, error) {
	f := fileRef{written: in.path, at: c.at, where: c.doc.where(in.node)}
	if err := ownName(f.where, f.written); err != nil {
		return nil, err
	}
	if why := remoteForm(in.path); why != "" && !r.fsys.Exists(f.place().dir) {
		return nil, f.errorf("%s: remote Compositions are not supported yet: %s", in.path, why)
	}
	at := f.place()
	if !r.fsys.Exists(at.dir) {
		return nil, f.missing()
	}
	if r.fsys.IsDir(at.dir) {
		dir, err := confirmDir(r.fsys, at.dir)
		if err != nil {
			return nil, err
		}
		at = place{dir: dir, display: at.display}
		name, err := compositionIn(r.fsys, at)
		if err == nil && name == "" {
			err = f.errorf("%s holds no %s: an import is a Composition; the resources of a Kustomization come by a ResourceAccumulator", in.path, compositionFile)
		}
		if err != nil {
			return nil, err
		}
		return r.consolidate(ctx, at, name)
	}
	if !slices.Contains(compositionNames(), filepath.Base(at.dir)) {
		// It is the name that makes a directory a Composition's: other files are not to be read.
		if _, err := r.confine(f); err != nil {
			return nil, err
		}
	}
	dir, err := confirmDir(r.fsys, filepath.Dir(at.dir))
	if err != nil {
		return nil, err
	}
	from := place{dir: dir, display: filepath.Dir(at.display)}
	if slices.Contains(compositionNames(), filepath.Base(at.dir)) {
		if _, err := compositionIn(r.fsys, from); err != nil {
			return nil, err
		}
	}
	return r.consolidate(ctx, from, filepath.Base(at.dir))
}

// consolidate reads a Composition and all that it imports. One that is imported by several
// others is read once.
func (r *compositions) consolidate(ctx context.Context, at place, name string) (*resolved, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file := place{dir: filepath.Join(at.dir, name), display: filepath.Join(at.display, name)}
	if dir, real, err := r.fsys.CleanedAbs(file.dir); err == nil && real != "" {
		file.dir = dir.Join(real) // one file is one Composition, by whatever name
	}
	if done, ok := r.read[file.dir]; ok {
		return done, nil
	}
	leave, err := r.enter(file)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := r.readComposition(at, name)
	if err != nil {
		return nil, err
	}
	line, err := r.resolveImports(ctx, c)
	if err != nil {
		return nil, err
	}
	r.read[file.dir] = line
	return line, nil
}

// resolveImports makes a pipeline of a Composition: imports first, then what overrides
// them, then its own transformers join, and the order is settled.
func (r *compositions) resolveImports(ctx context.Context, c *composition) (*resolved, error) {
	var before, after [][]*transformer
	var errs []error
	line := &resolved{of: c, catalogs: slices.Clone(c.catalogs)}
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
			after = append(after, from.list)
		} else {
			before = append(before, from.list)
		}
		line.addCatalogs(from.catalogs)
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
	if order := valueOf(c.doc.node, orderField); order != nil && !isNull(order) {
		line.list, err = c.reorder(all)
		return line, err
	}
	line.list, err = c.sort(all, before, after)
	return line, err
}

// addCatalogs adds the catalogs of an import behind those that are there: KEP-2906, one
// union for a Composition.
func (l *resolved) addCatalogs(refs []CatalogRef) {
	for _, r := range refs {
		same := func(o CatalogRef) bool { return o.Declared == r.Declared && o.Dir == r.Dir }
		if !slices.ContainsFunc(l.catalogs, same) {
			l.catalogs = append(l.catalogs, r)
		}
	}
}

// names lists transformers in a line.
func listTransformers(ts []*transformer) string {
	var out []string
	for i, t := range ts {
		if i == mostErrors {
			out = append(out, fmt.Sprintf("and %d more", len(ts)-mostErrors))
			break
		}
		out = append(out, t.identity().String())
	}
	return strings.Join(out, ", ")
}

// join puts lists behind each other. A transformer that comes by two ways (a diamond) is
// one, as long as both left it the same; two of one identity are an error.
func (c *composition) join(lists [][]*transformer) ([]*transformer, error) {
	var all []*transformer
	seen := map[identity]*transformer{}
	var errs []error
	for _, t := range slices.Concat(lists...) {
		id := t.identity()
		before, twice := seen[id]
		switch {
		case !twice:
			seen[id] = t
			all = append(all, t)
		case before.declared != t.declared:
			errs = append(errs, t.errorf(t.document.node, "%s stands twice in %s (first at %s): give one of them another metadata.name",
				id, c.doc.file, before.position()))
		case !slices.Equal(before.over, t.over):
			errs = append(errs, c.doc.errorf(firstNode(c), "%s (%s) is imported twice, and not the same: once %s, once %s. "+
				"Let both ways import one Composition that overrides it, or accumulate the two as resources (ResourceAccumulator)",
				id, t.position(), before.overriddenAt(), t.overriddenAt()))
		}
	}
	return all, errors.Join(errs...)
}

// overriddenAt lists what was laid over a transformer.
func (t *transformer) overriddenAt() string {
	if len(t.over) == 0 {
		return "as it is declared"
	}
	var places []string
	for _, o := range t.over {
		places = append(places, o.position())
	}
	return "overridden at " + strings.Join(places, " and ")
}
