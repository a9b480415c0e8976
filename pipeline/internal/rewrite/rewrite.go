package rewrite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Compiled is a target as kustomize will see it, and what the executor runs before kustomize.
type Compiled struct {
	// Stages are the first transformers of a Composition, which do not need kustomize.
	Stages []Stage
	// Given is the file from which kustomize reads the result of the Stages, "" for none.
	Given string

	kind string
	plan *plan
	dir  string // the directory that kustomize builds; "" if kustomize is not needed
}

// Stage is one transformer that the executor runs: a Step, or files of resources.
type Stage struct {
	Step  int              // the index of the Step, if there are no files
	Files []source.FileRef // the files whose resources are added
}

// Evaluate runs kustomize on a tree and returns the resources.
type Evaluate func(ctx context.Context, b bridge.Build) ([]*yaml.RNode, error)

// Compile reads the target in dir and everything that it refers to, and rewrites it for kustomize.
// It runs only the builtins that generate function configs, by evaluate.
func Compile(ctx context.Context, r *source.Reader, dir string, evaluate Evaluate) (*Compiled, error) {
	at, err := source.TargetDir(r.FS, dir)
	if err != nil {
		return nil, err
	}
	name, err := source.CompositionIn(r.FS, at)
	if err != nil {
		return nil, err
	}
	c := &Compiled{plan: newPlan(r, evaluate)}
	c.plan.target = at
	if name != "" {
		return c, c.composition(ctx, at, name)
	}
	return c, c.kustomization(ctx, at)
}

// kustomization compiles the Kustomization or Component in a directory.
func (c *Compiled) kustomization(ctx context.Context, at source.Place) error {
	p := c.plan
	k, err := p.load(ctx, at)
	if err != nil {
		return err
	}
	p.root, c.kind = k, k.kust.Kind
	if err := k.checkOrder(); err != nil {
		return err
	}
	if len(k.roots) > 1 { // a Component that was divided into several
		dir, err := p.wrap(k.file(), nil, k.roots, nil)
		if err != nil {
			return err
		}
		k.roots = []string{dir}
	}
	c.dir = k.roots[0]
	return p.serve()
}

// composition compiles the Composition in a directory.
func (c *Compiled) composition(ctx context.Context, at source.Place, name string) error {
	p := c.plan
	c.kind, p.filed = source.CompositionKind, true
	if p.Options.Reorder == source.ReorderUnspecified {
		p.Options.Reorder = source.ReorderNone // the pipeline determines the order
	}
	resolved, err := p.Resolve(ctx, at, name)
	if err != nil {
		return err
	}
	// A path that it accumulates must not refer to this Composition again.
	leave, err := p.Enter(source.Place{Dir: filepath.Join(at.Dir, name), Display: filepath.Join(at.Display, name)})
	if err != nil {
		return err
	}
	defer leave()
	return c.split(ctx, resolved)
}

// split divides a resolved Composition into what the executor runs and what kustomize runs.
func (c *Compiled) split(ctx context.Context, resolved *composition.Resolved) error {
	p, list := c.plan, resolved.List
	n := slices.IndexFunc(list, func(t *composition.Transformer) bool { return !c.needsNoKustomize(t) })
	if n < 0 {
		n = len(list)
	}
	isFunction := func(t *composition.Transformer) bool { return !t.Builtin }
	// atEnd reports whether the end of the build changes the resources: only kustomize can do that.
	atEnd := p.Options.Reorder != source.ReorderNone || p.Options.ManagedBy
	if (n < len(list) || atEnd) && !slices.ContainsFunc(list[:n], isFunction) {
		n = 0 // kustomize reads the files itself
	}
	var errs []error
	for _, t := range list[:n] {
		errs = append(errs, c.addStage(t, resolved.Catalogs))
	}
	for i := range len(p.steps) - 1 {
		p.steps[i].Remarks = true // kustomize gives no comments to the functions after it
	}
	if n == len(list) && !atEnd {
		return errors.Join(errs...)
	}
	cs := p.newComponents(resolved.Of.File())
	cs.filed, cs.whole = true, true
	if n > 0 {
		vc := cs.forResources()
		vc.read.Given = true
		name := p.OwnFile("yaml", resolved.Of.Doc.File)
		vc.resources = append(vc.resources, name)
		c.Given = filepath.Join(vc.root, name)
	}
	errs = append(errs, p.emit(ctx, &composition.Resolved{Of: resolved.Of, List: list[n:], Catalogs: resolved.Catalogs}, cs))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := p.serve(); err != nil {
		return err
	}
	var err error
	c.dir, err = p.wrap(resolved.Of.File(), nil, cs.roots(), nil)
	return err
}

// needsNoKustomize reports whether the executor can run a transformer without kustomize: it is a
// function, or it reads files of resources only.
func (c *Compiled) needsNoKustomize(t *composition.Transformer) bool {
	if !t.Builtin {
		return !t.IsKustomization()
	}
	if !slices.Contains(fnconfig.ResourceKinds(), t.ID.Kind) {
		return false
	}
	final, err := t.Final()
	if err != nil {
		return false // emit reports the error
	}
	return !slices.ContainsFunc(fnconfig.PathsIn(final), func(n *yaml.Node) bool {
		f := c.plan.Refs[n.Value]
		return c.plan.FS.IsDir(f.Place().Dir) || slices.Contains(source.CompositionNames(), filepath.Base(f.Place().Dir))
	})
}

// addStage plans a transformer that the executor runs.
func (c *Compiled) addStage(t *composition.Transformer, catalogs []fnconfig.CatalogRef) error {
	if !t.Builtin {
		step, err := t.Step(catalogs)
		if err != nil {
			return err
		}
		step.Filed = true
		c.Stages = append(c.Stages, Stage{Step: len(c.plan.steps)})
		c.plan.steps = append(c.plan.steps, step)
		return nil
	}
	final, err := t.Final()
	if err != nil {
		return err
	}
	nodes, err := c.plan.resourcePaths(final)
	errs := []error{err}
	var s Stage
	for _, n := range nodes {
		f := c.plan.Refs[n.Value]
		if err := c.plan.NotRemote(f, "remote resources are not supported yet"); err != nil {
			errs = append(errs, err)
			continue
		}
		if slices.Contains(source.KustomizationNames(), filepath.Base(f.Written)) {
			errs = append(errs, f.OfKustomization())
			continue
		}
		_, err := c.plan.Confine(f)
		errs = append(errs, c.plan.LeaveOut(err))
		s.Files = append(s.Files, f)
	}
	c.Stages = append(c.Stages, s)
	return errors.Join(errs...)
}

// Kind returns the kind of the target: Kustomization, Component or Composition.
func (c *Compiled) Kind() string { return c.kind }

// Steps returns the functions that the target runs.
func (c *Compiled) Steps() []fnconfig.Step { return c.plan.steps }

// Notes returns the remarks about the target itself that a plan has to show, for example that helm
// runs.
func (c *Compiled) Notes() []string { return c.plan.notes }

// NeedsKustomize reports whether kustomize has to run after the Stages.
func (c *Compiled) NeedsKustomize() bool { return c.dir != "" }

// Tree returns the build for kustomize. Serve is not set.
func (c *Compiled) Tree() (bridge.Build, error) { return c.plan.build(c.dir) }

// Resources reads the resources of a file. The load restrictor is applied again, because functions
// have run since the file was planned.
func (c *Compiled) Resources(f source.FileRef) ([]source.Document, error) { return c.plan.Resources(f) }

// Run returns the run with the number that kustomize uses for it, nil for none.
func (c *Compiled) Run(n bridge.Run) *Run { return c.plan.runs.at(n) }

// Explain returns the error to show for a failed build.
func (c *Compiled) Explain(f *bridge.Failure) error { return c.plan.explain(f) }
