package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
)

// emit writes a pipeline to a sheet: docs/adr/0010-composition-as-components.md.
func (p *plan) emit(ctx context.Context, line *composition.Resolved, s *sheet) error {
	var errs []error
	for _, t := range line.List {
		errs = append(errs, p.LeaveOut(p.emitOne(ctx, t, line.Catalogs, s)))
	}
	return errors.Join(errs...)
}

func (p *plan) emitOne(ctx context.Context, t *composition.Transformer, catalogs []fnconfig.CatalogRef, s *sheet) error {
	end, err := p.writing.begin(t)
	if err != nil {
		return err
	}
	defer end()
	if !t.Builtin && !t.IsKustomization() {
		step, err := t.Step(catalogs)
		if err != nil {
			return err
		}
		if text := s.function(step); text != "" {
			s.transform(fnconfig.Transformer, text)
		}
		return nil
	}
	s.open = nil
	c, err := t.Final()
	if err != nil {
		return err
	}
	switch {
	case c.IsKustomization():
		return p.emitKustomization(ctx, t, c, catalogs, s)
	case slices.Contains(fnconfig.ResourceKinds(), c.ID.Kind):
		return p.emitResources(ctx, c, s)
	case c.ID.Kind == fnconfig.HelmGenerator:
		return p.emitHelm(t, c, s)
	case fnconfig.IsGenerator(c.ID.Kind):
		part := s.listing(c, s.early())
		text, err := p.builtin(t, c, part.root)
		s.generate(part, text)
		return err
	}
	part := s.listing(c, s.short())
	text, err := p.builtin(t, c, part.root)
	s.transform(fnconfig.Transformer, text)
	return err
}

// emitResources lets kustomize read the files and directories that an accumulator names.
func (p *plan) emitResources(ctx context.Context, c fnconfig.Config, s *sheet) error {
	nodes, err := c.ResourcePaths()
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		f := p.Refs[n.Value]
		if filepath.IsAbs(f.Written) && p.FS.IsDir(f.Place().Dir) {
			errs = append(errs, f.Errorf("%s: the path has to be relative", f.Written))
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
		rel, err := source.RelativeTo(pt.root, root)
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
func (p *plan) directory(ctx context.Context, f source.FileRef) (found, error) {
	at := f.Place()
	spot := p.spot(at.Dir)
	if why := source.RemoteForm(f.Written); why != "" && !spot.exists() {
		return found{}, f.Errorf("%s: remote resources are not supported yet: %s", f.Written, why)
	}
	if !spot.exists() {
		return found{}, f.Missing()
	}
	name := ""
	if !spot.isDir {
		name = filepath.Base(at.Dir)
		if slices.Contains(source.KustomizationNames(), name) {
			return found{}, f.OfKustomization()
		}
		if !slices.Contains(source.CompositionNames(), name) {
			return found{}, nil
		}
		at = at.Join("..")
	}
	dir := found{isDir: true}
	real, err := source.ConfirmDir(p.FS, at.Dir)
	if err != nil {
		return dir, err
	}
	at.Dir = real
	if name == "" {
		if name, err = source.CompositionIn(p.FS, at); err != nil {
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
	if p.Reading(at) { // the entry that leads back, and not where it leads
		return dir, f.Errorf("cycle: %s", p.Cycle(at))
	}
	l, err := p.load(ctx, at)
	if err == nil {
		dir.roots, dir.component = l.roots, l.kust.Kind == types.ComponentKind
	}
	return dir, err
}

// compositionRoot plans a Composition that is run on nothing, and gives the directory where
// kustomize finds its resources. One that is asked for twice is planned once.
func (p *plan) compositionRoot(ctx context.Context, at source.Place, name string) (string, error) {
	file := filepath.Join(at.Dir, name)
	if root, ok := p.composed[file]; ok {
		return root, nil
	}
	line, err := p.Resolve(ctx, at, name)
	if err != nil {
		return "", err
	}
	// What it accumulates may lead back to it.
	leave, err := p.Enter(source.Place{Dir: file, Display: filepath.Join(at.Display, name)})
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
func (p *plan) rootOf(ctx context.Context, line *composition.Resolved) (string, error) {
	s := p.newSheet(line.Of.File())
	if err := p.emit(ctx, line, s); err != nil {
		return "", err
	}
	return p.wrap(line.Of.File(), nil, s.roots(), nil)
}

// emitKustomization makes a Component of a Kustomization that stands in a Composition: the
// resources so far come first, just as if they were first in its own (KEP-2299, "Built-in
// transformers").
func (p *plan) emitKustomization(ctx context.Context, t *composition.Transformer, c fnconfig.Config, catalogs []fnconfig.CatalogRef, s *sheet) error {
	v, err := c.Value()
	if err != nil {
		return err
	}
	raw := make(map[string]json.RawMessage, len(v))
	for name, value := range v {
		if raw[name], err = json.Marshal(value); err != nil {
			return c.NoJSON(err)
		}
	}
	for _, name := range []string{"buildMetadata", "sortOptions"} {
		if key, _ := c.Field(name); key != nil {
			return c.Errorf(key, "%s is for the whole build: a Kustomization in a Composition cannot say it", name)
		}
	}
	l := &layer{Place: t.At, root: p.virtualRoot(t.File()), name: source.KustomizationNames()[0], doc: c.Document, inline: true}
	if err := p.canonical(l, raw); err != nil {
		return err
	}
	if key, v := c.Field("apiVersion"); v.Value != source.KustomizationAPIVersion {
		return c.Errorf(key, "apiVersion of a Kustomization is %s, not %q", source.KustomizationAPIVersion, v.Value)
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
