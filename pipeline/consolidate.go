package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// pipeline is a consolidated Composition: every import is resolved, with its overrides and
// its order (KEP-2299, "Composition evaluation").
type pipeline struct {
	of       *composition
	list     []*transformer
	catalogs []CatalogRef
}

// importFrom finds the Composition that a path names: a file, or a directory with one.
func (p *plan) importFrom(ctx context.Context, c *composition, in imported) (*pipeline, error) {
	f := fileRef{written: in.path, at: c.at, where: c.doc.where(in.node)}
	if err := ownName(f.where, f.written); err != nil {
		return nil, err
	}
	if why := remoteForm(in.path); why != "" && !p.fsys.Exists(f.place().dir) {
		return nil, f.errorf("%s: remote Compositions are not supported yet: %s", in.path, why)
	}
	at := f.place()
	if !p.fsys.Exists(at.dir) {
		return nil, f.missing()
	}
	if p.fsys.IsDir(at.dir) {
		dir, err := confirmDir(p.fsys, at.dir)
		if err != nil {
			return nil, err
		}
		at = place{dir: dir, display: at.display}
		name, err := compositionIn(p.fsys, at)
		if err == nil && name == "" {
			err = f.errorf("%s holds no %s: an import is a Composition; the resources of a Kustomization come by a ResourceAccumulator", in.path, compositionFile)
		}
		if err != nil {
			return nil, err
		}
		return p.consolidate(ctx, at, name)
	}
	if !slices.Contains(compositionNames(), filepath.Base(at.dir)) {
		// It is the name that makes a directory a Composition's: other files are not to be read.
		if _, err := p.confine(f); err != nil {
			return nil, err
		}
	}
	dir, err := confirmDir(p.fsys, filepath.Dir(at.dir))
	if err != nil {
		return nil, err
	}
	from := place{dir: dir, display: filepath.Dir(at.display)}
	if slices.Contains(compositionNames(), filepath.Base(at.dir)) {
		if _, err := compositionIn(p.fsys, from); err != nil {
			return nil, err
		}
	}
	return p.consolidate(ctx, from, filepath.Base(at.dir))
}

// compositionIn finds the file of the Composition in a directory, "" for none.
func compositionIn(fsys filesys.FileSystem, at place) (string, error) {
	found := kindsIn(fsys, at.dir)
	switch {
	case len(found.kustomization) > 0 && len(found.composition) > 0:
		return "", &SyntaxError{Where: at.display, Msg: fmt.Sprintf(
			"both %s and %s are there: a directory is one or the other (KEP-2299)", found.composition[0], found.kustomization[0])}
	case len(found.composition) > 1:
		return "", &SyntaxError{Where: at.display, Msg: "more than one composition file: " + strings.Join(found.composition, ", ")}
	case len(found.composition) == 1:
		return found.composition[0], nil
	}
	return "", nil
}

// consolidate reads a Composition and all that it imports. One that is imported by several
// others is read once.
func (p *plan) consolidate(ctx context.Context, at place, name string) (*pipeline, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file := place{dir: filepath.Join(at.dir, name), display: filepath.Join(at.display, name)}
	if dir, real, err := p.fsys.CleanedAbs(file.dir); err == nil && real != "" {
		file.dir = dir.Join(real) // one file is one Composition, by whatever name
	}
	if done, ok := p.pipelines[file.dir]; ok {
		return done, nil
	}
	leave, err := p.enter(file)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := p.readComposition(at, name)
	if err != nil {
		return nil, err
	}
	line, err := p.resolveImports(ctx, c)
	if err != nil {
		return nil, err
	}
	p.pipelines[file.dir] = line
	return line, nil
}

// resolveImports makes a pipeline of a Composition: imports first, then what overrides
// them, then its own transformers join, and the order is settled.
func (p *plan) resolveImports(ctx context.Context, c *composition) (*pipeline, error) {
	var before, after [][]*transformer
	var errs []error
	line := &pipeline{of: c, catalogs: slices.Clone(c.catalogs)}
	for _, in := range c.imports {
		from, err := p.importFrom(ctx, c, in)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := p.takes(c, in, from); err != nil {
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
func (l *pipeline) addCatalogs(refs []CatalogRef) {
	for _, r := range refs {
		same := func(o CatalogRef) bool { return o.Declared == r.Declared && o.Dir == r.Dir }
		if !slices.ContainsFunc(l.catalogs, same) {
			l.catalogs = append(l.catalogs, r)
		}
	}
}

// override lays the overrides of a Composition over what it imports.
func (c *composition) override(before, after [][]*transformer) (b, a [][]*transformer, err error) {
	if len(c.overrides) == 0 {
		return before, after, nil
	}
	if len(c.imports) == 0 {
		key, _ := c.doc.field(overridesField)
		return nil, nil, c.doc.errorf(key, "%s without %s: an override changes what is imported", overridesField, importsField)
	}
	over := map[identity][]*transformer{}
	used := map[identity]bool{}
	var many *transformer
	for _, o := range c.overrides {
		over[o.identity()] = append(over[o.identity()], o)
	}
	lay := func(lists [][]*transformer) [][]*transformer {
		out := make([][]*transformer, len(lists))
		// One that comes by two ways stays one.
		for i, list := range lists {
			out[i] = make([]*transformer, len(list))
			for j, t := range list {
				id := t.identity()
				used[id] = true
				if len(over[id]) > 0 {
					changed := *t
					changed.over = append(slices.Clip(t.over), over[id]...)
					if len(changed.over) > maxOverrides {
						many = t
					}
					t = &changed
				}
				out[i][j] = t
			}
		}
		return out
	}
	b, a = lay(before), lay(after)
	if many != nil {
		first := over[many.identity()][0]
		return nil, nil, first.tooMuch(first.document.node, "%s (%s) is overridden more than %d times", many.identity(), many.position(), maxOverrides)
	}
	var errs []error
	for _, o := range c.overrides {
		if !used[o.identity()] && len(errs) < mostErrors {
			errs = append(errs, c.overridesNothing(o, slices.Concat(append(before, after...)...)))
		}
	}
	return b, a, errors.Join(errs...)
}

// overridesNothing says what an override might have meant.
func (c *composition) overridesNothing(o *transformer, imported []*transformer) error {
	id := o.identity()
	msg := fmt.Sprintf("the override of %s (%s) matches no imported transformer", id, id.apiVersion)
	for _, t := range c.transformers {
		if t.identity() == id {
			return o.errorf(o.document.node, "%s: the one at %s is this Composition's own, change it there", msg, t.position())
		}
	}
	var alike []string
	for _, t := range imported {
		if (t.id.Kind == o.id.Kind || t.name == o.name) && len(alike) < mostErrors {
			alike = append(alike, fmt.Sprintf("%s (%s, %s)", t.identity(), t.id.APIVersion(), t.position()))
		}
	}
	switch {
	case len(alike) > 0:
		msg += "; there is " + strings.Join(alike, ", ")
	case len(imported) > 0:
		msg += "; imported are " + names(imported)
	default:
		msg += ": nothing is imported"
	}
	return o.errorf(o.document.node, "%s", msg)
}

// names lists transformers in a line.
func names(ts []*transformer) string {
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
