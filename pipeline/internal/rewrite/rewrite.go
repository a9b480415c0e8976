package rewrite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
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
	Step  int              // its index, where there are no files
	Files []source.FileRef // whose resources are added
}

// Evaluate has kustomize build a tree.
type Evaluate func(ctx context.Context, b bridge.Build) ([]*yaml.RNode, error)

// Compile reads the target in dir and all that it refers to, and rewrites it for kustomize. Of what
// it reads it runs nothing but the builtins that make function configs, by evaluate.
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
	if name != "" {
		return c, c.composition(ctx, at, name)
	}
	return c, c.kustomization(ctx, at)
}

// kustomization compiles the Kustomization or Component in a directory.
func (c *Compiled) kustomization(ctx context.Context, at source.Place) error {
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
func (c *Compiled) composition(ctx context.Context, at source.Place, name string) error {
	p := c.plan
	c.kind = source.CompositionKind
	if p.Options.Reorder == source.ReorderUnspecified {
		p.Options.Reorder = source.ReorderNone // it is the functions who say in which order things are
	}
	line, err := p.Resolve(ctx, at, name)
	if err != nil {
		return err
	}
	// What it accumulates must not lead back to it.
	leave, err := p.Enter(source.Place{Dir: filepath.Join(at.Dir, name), Display: filepath.Join(at.Display, name)})
	if err != nil {
		return err
	}
	defer leave()
	return c.split(ctx, line)
}

// split splits a pipeline into what the executor runs and what kustomize runs.
func (c *Compiled) split(ctx context.Context, line *composition.Resolved) error {
	p, list := c.plan, line.List
	n := slices.IndexFunc(list, func(t *composition.Transformer) bool { return !c.needsNoKustomize(t) })
	if n < 0 {
		n = len(list)
	}
	isFunction := func(t *composition.Transformer) bool { return !t.Builtin }
	atEnd := p.Options.Reorder != source.ReorderNone || p.Options.ManagedBy // what only kustomize does
	if (n < len(list) || atEnd) && !slices.ContainsFunc(list[:n], isFunction) {
		n = 0 // kustomize reads the files itself
	}
	var errs []error
	for _, t := range list[:n] {
		errs = append(errs, c.addStage(t, line.Catalogs))
	}
	if n == len(list) && !atEnd {
		return errors.Join(errs...)
	}
	s := p.newSheet(line.Of.File())
	if n > 0 {
		part := s.accumulate()
		name := p.OwnFile("yaml", line.Of.Doc.File)
		part.resources = append(part.resources, name)
		c.Given = filepath.Join(part.root, name)
	}
	errs = append(errs, p.emit(ctx, &composition.Resolved{Of: line.Of, List: list[n:], Catalogs: line.Catalogs}, s))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := p.serve(); err != nil {
		return err
	}
	var err error
	c.dir, err = p.wrap(line.Of.File(), nil, s.roots(), nil)
	return err
}

// needsNoKustomize tells functions, and the files of resources.
func (c *Compiled) needsNoKustomize(t *composition.Transformer) bool {
	if !t.Builtin {
		return !t.IsKustomization()
	}
	if !slices.Contains(fnconfig.ResourceKinds(), t.ID.Kind) {
		return false
	}
	final, err := t.Final()
	if err != nil {
		return false // and it is said when it is compiled
	}
	return !slices.ContainsFunc(fnconfig.PathsIn(final), func(n *yaml.Node) bool {
		f := c.plan.Refs[n.Value]
		return c.plan.FS.IsDir(f.Place().Dir) || slices.Contains(source.CompositionNames(), filepath.Base(f.Place().Dir))
	})
}

// addStage plans what the executor runs.
func (c *Compiled) addStage(t *composition.Transformer, catalogs []fnconfig.CatalogRef) error {
	if !t.Builtin {
		step, err := t.Step(catalogs)
		if err != nil {
			return err
		}
		c.Stages = append(c.Stages, Stage{Step: len(c.plan.steps)})
		c.plan.steps = append(c.plan.steps, step)
		return nil
	}
	final, err := t.Final()
	if err != nil {
		return err
	}
	nodes, err := final.ResourcePaths()
	errs := []error{err}
	var s Stage
	for _, n := range nodes {
		f := c.plan.Refs[n.Value]
		if why := source.RemoteForm(f.Written); why != "" && !c.plan.FS.Exists(f.Place().Dir) {
			errs = append(errs, f.Errorf("%s: remote resources are not supported yet: %s", f.Written, why))
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

// Kind is Kustomization, Component or Composition.
func (c *Compiled) Kind() string { return c.kind }

// Steps are the functions that the target asks for.
func (c *Compiled) Steps() []fnconfig.Step { return c.plan.steps }

// Notes lists what a plan should say of the target itself, such as that helm runs.
func (c *Compiled) Notes() []string { return c.plan.notes }

// NeedsKustomize tells whether anything is left for kustomize when the Stages ran.
func (c *Compiled) NeedsKustomize() bool { return c.dir != "" }

// Tree is what kustomize shall build, but for who answers Steps.
func (c *Compiled) Tree() (bridge.Build, error) { return c.plan.build(c.dir) }

// Resources reads the resources of a file, which the load restrictor holds to its place again:
// functions ran since the file was planned.
func (c *Compiled) Resources(f source.FileRef) ([]source.Document, error) {
	file, err := c.plan.Confine(f)
	if err != nil {
		return nil, err
	}
	return c.plan.Resources(file, f.Place().Display)
}

// Run is a run by the number that kustomize knows it under, nil for none.
func (c *Compiled) Run(n bridge.Run) *Run { return c.plan.runs.at(n) }

// Sorted tells whether kustomize sorts the resources at its end.
func (c *Compiled) Sorted() bool {
	if root := c.plan.root; root != nil && root.kust.SortOptions != nil {
		return root.kust.SortOptions.Order == types.LegacySortOrder
	}
	return c.plan.Options.Reorder != source.ReorderNone
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
