package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// emit writes a resolved Composition as virtual Components
// (docs/adr/0010-composition-as-components.md).
func (p *plan) emit(ctx context.Context, resolved *composition.Resolved, cs *components) error {
	var errs []error
	for _, t := range resolved.List {
		errs = append(errs, p.LeaveOut(p.emitOne(ctx, t, resolved.Catalogs, cs)))
	}
	return errors.Join(errs...)
}

func (p *plan) emitOne(ctx context.Context, t *composition.Transformer, catalogs []fnconfig.CatalogRef, cs *components) error {
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
		if text := cs.function(step); text != "" {
			cs.transform(fnconfig.Transformer, text)
		}
		return nil
	}
	cs.open = nil
	c, err := t.Final()
	if err != nil {
		return err
	}
	switch {
	case c.IsKustomization():
		return p.emitKustomization(ctx, t, c, catalogs, cs)
	case slices.Contains(fnconfig.ResourceKinds(), c.ID.Kind):
		return p.emitResources(ctx, c, cs)
	case c.ID.Kind == fnconfig.HelmGenerator:
		return p.emitHelm(t, c, cs)
	case fnconfig.IsGenerator(c.ID.Kind):
		vc := cs.forBuiltin(c, cs.forGenerator())
		text, err := p.builtin(t, c, vc.root)
		cs.generate(vc, text)
		return err
	}
	vc := cs.forBuiltin(c, cs.forTransformer())
	text, err := p.builtin(t, c, vc.root)
	cs.transform(fnconfig.Transformer, text)
	return err
}

// emitResources adds the files and directories that an accumulator names to the resources.
func (p *plan) emitResources(ctx context.Context, c fnconfig.Config, cs *components) error {
	nodes, err := p.resourcePaths(c)
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
		case found.component: // it continues with the resources so far
			cs.component(found.roots...)
		case found.isDir:
			err = cs.forResources().take(found.roots)
		default:
			vc := cs.forResources()
			err = p.link(n.Value, vc.root)
			vc.resources = append(vc.resources, n.Value)
			if cs.whole && p.pathOf(f) != "" {
				vc.read.Files = append(vc.read.Files, f)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// take adds directories to the resources of a Component.
func (vc *component) take(roots []string) error {
	for _, root := range roots {
		rel, err := source.RelativeTo(vc.root, root)
		if err != nil {
			return err
		}
		vc.resources = append(vc.resources, rel)
	}
	return nil
}

// found is what a path refers to.
type found struct {
	isDir       bool     // a directory or the file of a Composition; otherwise a file of resources
	roots       []string // the directories in which kustomize sees the directory
	component   bool     // it is a Component
	composition bool     // it is a Composition
}

// directory plans the directory that a path names, or the directory of the Composition whose file
// it names.
func (p *plan) directory(ctx context.Context, f source.FileRef) (found, error) {
	at := f.Place()
	info := p.stat(at.Dir)
	if why := source.RemoteForm(f.Written); why != "" && !info.exists() {
		return found{}, f.Errorf("%s: remote resources are not supported yet: %s", f.Written, why)
	}
	if !info.exists() {
		return found{}, f.Missing()
	}
	name := ""
	if !info.isDir {
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
	if p.Reading(at) { // the position is that of the entry that closes the cycle
		return dir, f.Errorf("cycle: %s", p.Cycle(at))
	}
	k, err := p.load(ctx, at)
	if err == nil {
		dir.roots, dir.component = k.roots, k.kust.Kind == types.ComponentKind
	}
	return dir, err
}

// compositionRoot plans a Composition without input, and returns the directory in which kustomize
// sees its resources. A Composition that is used twice is planned once.
func (p *plan) compositionRoot(ctx context.Context, at source.Place, name string) (string, error) {
	file := filepath.Join(at.Dir, name)
	if root, ok := p.composed[file]; ok {
		return root, nil
	}
	resolved, err := p.Resolve(ctx, at, name)
	if err != nil {
		return "", err
	}
	// A path that it accumulates may refer to this Composition again.
	leave, err := p.Enter(source.Place{Dir: file, Display: filepath.Join(at.Display, name)})
	if err != nil {
		return "", err
	}
	defer leave()
	root, err := p.rootOf(ctx, resolved)
	if err == nil {
		p.composed[file] = root
	}
	return root, err
}

// rootOf creates a kustomization from a resolved Composition, and returns its directory.
func (p *plan) rootOf(ctx context.Context, resolved *composition.Resolved) (string, error) {
	cs := p.newComponents(resolved.Of.File())
	cs.filed = p.filed
	if err := p.emit(ctx, resolved, cs); err != nil {
		return "", err
	}
	return p.wrap(resolved.Of.File(), nil, cs.roots(), nil)
}

// emitKustomization makes a Component from a Kustomization inside a Composition. The resources so
// far come first, as if they were listed first in it (KEP-2299, "Built-in transformers").
func (p *plan) emitKustomization(ctx context.Context, t *composition.Transformer, c fnconfig.Config, catalogs []fnconfig.CatalogRef, cs *components) error {
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
			return c.Errorf(key, "%s is for the whole build: a Kustomization in a Composition cannot have it", name)
		}
	}
	k := &kustomization{Place: t.At, root: p.virtualRoot(t.File()), name: source.KustomizationNames()[0], doc: c.Document, inline: true}
	if err := p.canonical(k, raw); err != nil {
		return err
	}
	if key, v := c.Field("apiVersion"); v.Value != source.KustomizationAPIVersion {
		return c.Errorf(key, "apiVersion of a Kustomization is %s, not %q", source.KustomizationAPIVersion, v.Value)
	}
	k.catalogs = append(k.catalogs, catalogs...)
	delete(k.fields, "metadata")
	if k.fields["resources"] == nil {
		k.fields["resources"] = json.RawMessage("[]") // kustomize refuses an empty kustomization
	}
	k.fields["apiVersion"], k.fields["kind"] = quoted(types.ComponentVersion), quoted(types.ComponentKind)
	p.kustomizations[k.root] = k
	if err := p.rewrite(ctx, k); err != nil {
		return err
	}
	cs.component(k.roots...)
	return nil
}
