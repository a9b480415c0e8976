package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// composed is a Composition that can be built. The executor runs what needs no kustomize:
// all of it where there are only functions and files, or what comes before.
type composed struct {
	*plan
	line   *pipeline
	stages []stage // run by the executor
	rest   string  // where kustomize finds what comes after; empty for nothing
	given  string  // the file in which kustomize finds what the executor made of the stages
}

// stage is one transformer that the executor runs: a Step, or files.
type stage struct {
	step  int // index of the Step; -1 for files
	files []fileRef
}

func loadComposition(ctx context.Context, fsys filesys.FileSystem, at place, o Options) (Target, error) {
	if o.Reorder == ReorderUnspecified {
		o.Reorder = ReorderNone // it is the functions who say in which order things are
	}
	p := newPlan(fsys, o)
	name := kindsIn(fsys, at.dir).composition[0]
	line, err := p.consolidate(ctx, at, name)
	if err != nil {
		return nil, err
	}
	// What it accumulates must not lead back to it.
	leave, err := p.enter(place{dir: filepath.Join(at.dir, name), display: filepath.Join(at.display, name)})
	if err != nil {
		return nil, err
	}
	defer leave()
	c := &composed{plan: p, line: line}
	return c, c.compile(ctx)
}

// compile splits the pipeline into what the executor runs and what kustomize runs.
func (c *composed) compile(ctx context.Context) error {
	list := c.line.list
	n := slices.IndexFunc(list, func(t *transformer) bool { return !c.needsNoKustomize(t) })
	if n < 0 {
		n = len(list)
	}
	isFunction := func(t *transformer) bool { return !t.builtin }
	atEnd := c.options.Reorder != ReorderNone || c.options.ManagedBy // what only kustomize does
	if (n < len(list) || atEnd) && !slices.ContainsFunc(list[:n], isFunction) {
		n = 0 // kustomize reads the files itself
	}
	var errs []error
	for _, t := range list[:n] {
		errs = append(errs, c.addStage(t))
	}
	if n == len(list) && !atEnd {
		return errors.Join(errs...)
	}
	s := c.newSheet(c.line.of.file())
	if n > 0 {
		part := s.accumulate()
		name := c.ownFile("yaml", c.line.of.doc.file)
		part.resources = append(part.resources, name)
		c.given = filepath.Join(part.root, name)
	}
	errs = append(errs, c.emit(ctx, &pipeline{of: c.line.of, list: list[n:], catalogs: c.line.catalogs}, s))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.serve(); err != nil {
		return err
	}
	var err error
	c.rest, err = c.wrap(c.line.of.file(), nil, s.roots(), nil)
	return err
}

// needsNoKustomize tells functions, and the files of resources.
func (c *composed) needsNoKustomize(t *transformer) bool {
	if !t.builtin {
		return !t.isKustomization()
	}
	if !slices.Contains(resourceKinds(), t.id.Kind) {
		return false
	}
	final, err := t.final()
	if err != nil {
		return false // and it is said when it is compiled
	}
	return !slices.ContainsFunc(pathsIn(final), func(n *yaml.Node) bool {
		f := c.refs[n.Value]
		return c.fsys.IsDir(f.place().dir) || slices.Contains(compositionNames(), filepath.Base(f.place().dir))
	})
}

// addStage plans what the executor runs.
func (c *composed) addStage(t *transformer) error {
	if !t.builtin {
		step, err := t.step(c.line.catalogs)
		if err != nil {
			return err
		}
		c.stages = append(c.stages, stage{step: len(c.steps)})
		c.steps = append(c.steps, step)
		return nil
	}
	final, err := t.final()
	if err != nil {
		return err
	}
	nodes, err := final.resourcePaths()
	errs := []error{err}
	s := stage{step: -1}
	for _, n := range nodes {
		f := c.refs[n.Value]
		if why := remoteForm(f.written); why != "" && !c.fsys.Exists(f.place().dir) {
			errs = append(errs, f.errorf("%s: remote resources are not supported yet: %s", f.written, why))
			continue
		}
		if slices.Contains(kustomizationNames(), filepath.Base(f.written)) {
			errs = append(errs, f.ofKustomization())
			continue
		}
		_, err := c.confine(f)
		errs = append(errs, c.leaveOut(err))
		s.files = append(s.files, f)
	}
	c.stages = append(c.stages, s)
	return errors.Join(errs...)
}

// Kind implements Target.
func (c *composed) Kind() string { return compositionKind }

// Steps implements Target.
func (c *composed) Steps() []Step { return c.steps }

// Notes implements Target.
func (c *composed) Notes() []string { return c.notes }

// Build implements Target.
func (c *composed) Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error) {
	steps := newApplied(c.steps, apply)
	var items []*yaml.RNode
	var err error
	for _, s := range c.stages {
		if s.step < 0 {
			items, err = c.accumulate(items, s)
		} else if err = steps.identify(s.step, items); err == nil {
			items, err = steps.run(ctx, s.step, items)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range items {
		// kustomize writes all annotations anew at its end, as text.
		notes := n.GetAnnotations()
		maps.DeleteFunc(notes, func(key, _ string) bool { return orchestration(key) })
		if err := n.SetAnnotations(notes); err != nil {
			return nil, fmt.Errorf("writing the annotations of %s: %w", idOf(n), err)
		}
	}
	if c.rest == "" {
		// kustomize drops what is for itself, unless it says "false".
		return slices.DeleteFunc(items, func(n *yaml.RNode) bool {
			v, local := n.GetAnnotations()[localConfigKey]
			return local && v != "false"
		}), steps.missing()
	}
	if c.given != "" {
		if c.overlay.Files[c.given], err = printItems(items); err != nil {
			return nil, err
		}
	}
	return c.build(ctx, c.rest, steps)
}
