package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
)

// emit writes a pipeline to a sheet: docs/adr/0010-composition-as-components.md.
func (p *plan) emit(ctx context.Context, line *resolved, s *sheet) error {
	var errs []error
	for _, t := range line.list {
		errs = append(errs, p.leaveOut(p.emitOne(ctx, t, line.catalogs, s)))
	}
	return errors.Join(errs...)
}

func (p *plan) emitOne(ctx context.Context, t *transformer, catalogs []CatalogRef, s *sheet) error {
	end, err := p.writing.begin(t)
	if err != nil {
		return err
	}
	defer end()
	if !t.builtin && !t.isKustomization() {
		step, err := t.step(catalogs)
		if err != nil {
			return err
		}
		if text := s.function(step); text != "" {
			s.transform(Transformer, text)
		}
		return nil
	}
	s.open = -1
	c, err := t.final()
	if err != nil {
		return err
	}
	switch {
	case c.isKustomization():
		return p.emitKustomization(ctx, t, c, catalogs, s)
	case slices.Contains(resourceKinds(), c.id.Kind):
		return p.emitResources(ctx, c, s)
	case c.id.Kind == helmGenerator:
		return p.emitHelm(t, c, s)
	case isGenerator(c.id.Kind):
		part := s.listing(c, s.early())
		text, err := p.builtin(t, c, part.root)
		s.generate(part, text)
		return err
	}
	part := s.listing(c, s.short())
	text, err := p.builtin(t, c, part.root)
	s.transform(Transformer, text)
	return err
}

// emitResources lets kustomize read the files and directories that an accumulator names.
func (p *plan) emitResources(ctx context.Context, c functionConfig, s *sheet) error {
	nodes, err := c.resourcePaths()
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		f := p.refs[n.Value]
		if filepath.IsAbs(f.written) && p.fsys.IsDir(f.place().dir) {
			errs = append(errs, f.errorf("%s: the path has to be relative", f.written))
			continue
		}
		found, err := p.directory(ctx, f)
		switch {
		case err != nil:
		case found.component: // it goes on with the resources so far
			s.component(found.roots...)
		case found.isDir:
			err = s.accumulate().take(found.roots)
		default:
			part := s.accumulate()
			err = p.link(n.Value, part.root)
			part.resources = append(part.resources, n.Value)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// take adds directories to the resources of a part.
func (pt *part) take(roots []string) error {
	for _, root := range roots {
		rel, err := relativeTo(pt.root, root)
		if err != nil {
			return err
		}
		pt.resources = append(pt.resources, rel)
	}
	return nil
}

// found is what a path leads to.
type found struct {
	isDir       bool     // or the file of a Composition; else it is a file of resources
	roots       []string // where kustomize finds the directory
	component   bool     // it is a Component
	composition bool
}

// directory plans what a path names, where that is a directory, or the file of a
// Composition.
func (p *plan) directory(ctx context.Context, f fileRef) (found, error) {
	at := f.place()
	spot := p.spot(at.dir)
	if why := remoteForm(f.written); why != "" && !spot.exists() {
		return found{}, f.errorf("%s: remote resources are not supported yet: %s", f.written, why)
	}
	if !spot.exists() {
		return found{}, f.missing()
	}
	name := ""
	if !spot.isDir {
		name = filepath.Base(at.dir)
		if slices.Contains(kustomizationNames(), name) {
			return found{}, f.ofKustomization()
		}
		if !slices.Contains(compositionNames(), name) {
			return found{}, nil
		}
		at = at.join("..")
	}
	dir := found{isDir: true}
	real, err := confirmDir(p.fsys, at.dir)
	if err != nil {
		return dir, err
	}
	at.dir = real
	if name == "" {
		if name, err = compositionIn(p.fsys, at); err != nil {
			return dir, err
		}
	}
	if name != "" {
		dir.composition = true
		root, err := p.compositionRoot(ctx, at, name)
		if err == nil {
			dir.roots = []string{root}
		}
		return dir, err
	}
	if p.reading(at) { // the entry that leads back, and not where it leads
		return dir, f.errorf("cycle: %s", p.cycle(at))
	}
	l, err := p.load(ctx, at)
	if err == nil {
		dir.roots, dir.component = l.roots, l.kust.Kind == types.ComponentKind
	}
	return dir, err
}

// compositionRoot plans a Composition that is run on nothing, and gives the directory where
// kustomize finds its resources. One that is asked for twice is planned once.
func (p *plan) compositionRoot(ctx context.Context, at place, name string) (string, error) {
	file := filepath.Join(at.dir, name)
	if root, ok := p.composed[file]; ok {
		return root, nil
	}
	line, err := p.consolidate(ctx, at, name)
	if err != nil {
		return "", err
	}
	// What it accumulates may lead back to it.
	leave, err := p.enter(place{dir: file, display: filepath.Join(at.display, name)})
	if err != nil {
		return "", err
	}
	defer leave()
	root, err := p.rootOf(ctx, line)
	if err == nil {
		p.composed[file] = root
	}
	return root, err
}

// rootOf makes a kustomization of a pipeline.
func (p *plan) rootOf(ctx context.Context, line *resolved) (string, error) {
	s := p.newSheet(line.of.file())
	if err := p.emit(ctx, line, s); err != nil {
		return "", err
	}
	return p.wrap(line.of.file(), nil, s.roots(), nil)
}

// emitKustomization makes a Component of a Kustomization that stands in a Composition: the
// resources so far come first, just as if they were first in its own (KEP-2299, "Built-in
// transformers").
func (p *plan) emitKustomization(ctx context.Context, t *transformer, c functionConfig, catalogs []CatalogRef, s *sheet) error {
	v, err := c.value()
	if err != nil {
		return err
	}
	raw := make(map[string]json.RawMessage, len(v))
	for name, value := range v {
		if raw[name], err = json.Marshal(value); err != nil {
			return c.noJSON(err)
		}
	}
	for _, name := range []string{"buildMetadata", "sortOptions"} {
		if key, _ := c.field(name); key != nil {
			return c.errorf(key, "%s is for the whole build: a Kustomization in a Composition cannot say it", name)
		}
	}
	l := &layer{place: t.at, root: p.virtualRoot(t.file()), name: kustomizationNames()[0], doc: c.document, inline: true}
	if err := p.canonical(l, raw); err != nil {
		return err
	}
	if key, v := c.field("apiVersion"); v.Value != kustomizationAPIVersion {
		return c.errorf(key, "apiVersion of a Kustomization is %s, not %q", kustomizationAPIVersion, v.Value)
	}
	l.catalogs = append(l.catalogs, catalogs...)
	delete(l.fields, "metadata")
	if l.fields["resources"] == nil {
		l.fields["resources"] = json.RawMessage("[]") // kustomize refuses what is empty
	}
	l.fields["apiVersion"], l.fields["kind"] = quoted(types.ComponentVersion), quoted(types.ComponentKind)
	p.layers[l.root] = l
	if err := p.rewrite(ctx, l); err != nil {
		return err
	}
	s.component(l.roots...)
	return nil
}
