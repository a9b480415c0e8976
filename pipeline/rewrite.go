package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
)

// Compiled is a target as kustomize shall see it, and what the executor runs before that.
type Compiled struct {
	// Stages are the first transformers of a Composition, which need no kustomize.
	Stages []Stage
	// Given is the file in which kustomize finds what came of the Stages, "" for none.
	Given string

	kind string
	plan *plan
	dir  string // where kustomize begins; "" where the Stages are all
}

// Stage is one transformer that the executor runs: a Step, or files.
type Stage struct {
	Step  int       // its index, where there are no files
	Files []fileRef // whose resources are added
}

// Evaluate has kustomize build a tree.
type Evaluate func(ctx context.Context, b bridge.Build) ([]*yaml.RNode, error)

// Compile reads the target in dir and all that it refers to, and rewrites it for kustomize. Of what
// it reads it runs nothing but the builtins that make function configs, by evaluate.
func Compile(ctx context.Context, r *reader, dir string, evaluate Evaluate) (*Compiled, error) {
	at, err := targetDir(r.fsys, dir)
	if err != nil {
		return nil, err
	}
	name, err := compositionIn(r.fsys, at)
	if err != nil {
		return nil, err
	}
	c := &Compiled{plan: newPlan(r, evaluate)}
	if name != "" {
		return c, c.composition(ctx, at, name)
	}
	return c, c.kustomization(ctx, at)
}

// kustomization compiles the Kustomization or Component in a directory.
func (c *Compiled) kustomization(ctx context.Context, at place) error {
	p := c.plan
	root, err := p.load(ctx, at)
	if err != nil {
		return err
	}
	p.root, c.kind = root, root.kust.Kind
	if err := root.checkOrder(); err != nil {
		return err
	}
	if len(root.roots) > 1 { // a Component that goes on in others
		dir, err := p.wrap(root.file(), nil, root.roots, nil)
		if err != nil {
			return err
		}
		root.roots = []string{dir}
	}
	c.dir = root.roots[0]
	return p.serve()
}

// composition compiles the Composition in a directory.
func (c *Compiled) composition(ctx context.Context, at place, name string) error {
	p := c.plan
	c.kind = compositionKind
	if p.options.Reorder == ReorderUnspecified {
		p.options.Reorder = ReorderNone // it is the functions who say in which order things are
	}
	line, err := p.consolidate(ctx, at, name)
	if err != nil {
		return err
	}
	// What it accumulates must not lead back to it.
	leave, err := p.enter(place{dir: filepath.Join(at.dir, name), display: filepath.Join(at.display, name)})
	if err != nil {
		return err
	}
	defer leave()
	return c.split(ctx, line)
}

// split splits a pipeline into what the executor runs and what kustomize runs.
func (c *Compiled) split(ctx context.Context, line *resolved) error {
	p, list := c.plan, line.list
	n := slices.IndexFunc(list, func(t *transformer) bool { return !c.needsNoKustomize(t) })
	if n < 0 {
		n = len(list)
	}
	isFunction := func(t *transformer) bool { return !t.builtin }
	atEnd := p.options.Reorder != ReorderNone || p.options.ManagedBy // what only kustomize does
	if (n < len(list) || atEnd) && !slices.ContainsFunc(list[:n], isFunction) {
		n = 0 // kustomize reads the files itself
	}
	var errs []error
	for _, t := range list[:n] {
		errs = append(errs, c.addStage(t, line.catalogs))
	}
	if n == len(list) && !atEnd {
		return errors.Join(errs...)
	}
	s := p.newSheet(line.of.file())
	if n > 0 {
		part := s.accumulate()
		name := p.ownFile("yaml", line.of.doc.file)
		part.resources = append(part.resources, name)
		c.Given = filepath.Join(part.root, name)
	}
	errs = append(errs, p.emit(ctx, &resolved{of: line.of, list: list[n:], catalogs: line.catalogs}, s))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := p.serve(); err != nil {
		return err
	}
	var err error
	c.dir, err = p.wrap(line.of.file(), nil, s.roots(), nil)
	return err
}

// needsNoKustomize tells functions, and the files of resources.
func (c *Compiled) needsNoKustomize(t *transformer) bool {
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
		f := c.plan.refs[n.Value]
		return c.plan.fsys.IsDir(f.place().dir) || slices.Contains(compositionNames(), filepath.Base(f.place().dir))
	})
}

// addStage plans what the executor runs.
func (c *Compiled) addStage(t *transformer, catalogs []CatalogRef) error {
	if !t.builtin {
		step, err := t.step(catalogs)
		if err != nil {
			return err
		}
		c.Stages = append(c.Stages, Stage{Step: len(c.plan.steps)})
		c.plan.steps = append(c.plan.steps, step)
		return nil
	}
	final, err := t.final()
	if err != nil {
		return err
	}
	nodes, err := final.resourcePaths()
	errs := []error{err}
	var s Stage
	for _, n := range nodes {
		f := c.plan.refs[n.Value]
		if why := remoteForm(f.written); why != "" && !c.plan.fsys.Exists(f.place().dir) {
			errs = append(errs, f.errorf("%s: remote resources are not supported yet: %s", f.written, why))
			continue
		}
		if slices.Contains(kustomizationNames(), filepath.Base(f.written)) {
			errs = append(errs, f.ofKustomization())
			continue
		}
		_, err := c.plan.confine(f)
		errs = append(errs, c.plan.leaveOut(err))
		s.Files = append(s.Files, f)
	}
	c.Stages = append(c.Stages, s)
	return errors.Join(errs...)
}

// Kind is Kustomization, Component or Composition.
func (c *Compiled) Kind() string { return c.kind }

// Steps are the functions that the target asks for.
func (c *Compiled) Steps() []Step { return c.plan.steps }

// Notes lists what a plan should say of the target itself, such as that helm runs.
func (c *Compiled) Notes() []string { return c.plan.notes }

// NeedsKustomize tells whether anything is left for kustomize when the Stages ran.
func (c *Compiled) NeedsKustomize() bool { return c.dir != "" }

// Tree is what kustomize shall build, but for who answers Steps.
func (c *Compiled) Tree() (bridge.Build, error) { return c.plan.build(c.dir) }

// Resources reads the resources of a file, which the load restrictor holds to its place again:
// functions ran since the file was planned.
func (c *Compiled) Resources(f fileRef) ([]document, error) {
	file, err := c.plan.confine(f)
	if err != nil {
		return nil, err
	}
	return c.plan.resources(file, f.place().display)
}

// Run is a run by the number that kustomize knows it under.
func (c *Compiled) Run(n int) (r run, ok bool) { return c.plan.runAt(n) }

// SecondOf tells the run of a second Step, by the number that kustomize knows that under.
func (c *Compiled) SecondOf(n int) (r int, is bool) { return c.plan.secondOf(n) }

// IsSplit tells whether kustomize is told of a run in two Steps.
func (c *Compiled) IsSplit(r int) bool { return c.plan.split[r] }

// Split has kustomize be told of a run in two Steps.
func (c *Compiled) Split(r int) error {
	c.plan.split[r] = true
	return c.plan.serveSheets()
}

// Show puts the user's configs and files into what kustomize recorded of some resources.
func (c *Compiled) Show(items []*yaml.RNode) (recorded, error) { return c.plan.show(items) }

// Finish removes from a resource what shows how it was built, where kustomize would not show it.
func (c *Compiled) Finish(n *yaml.RNode) error { return c.plan.finish(n) }

// Explain finds the error that a person can use behind one of a build's.
func (c *Compiled) Explain(f *bridge.Failure) error { return c.plan.why(f) }

// Usable tells whether this machine has what a build takes. The error is a *scratch.Error, or says
// where helm is needed.
func (c *Compiled) Usable() error { return c.plan.usable() }
