package pipeline

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Sequence describes a target whose functions run one after the other on resources that stand in
// files, as those of a kpt package do. Kustomize has no part in it, and two resources may have one
// id.
type Sequence struct {
	Kind  string   // of the target, for people: "Kptfile"
	Steps []Step   // in order; each gets what its field Only selects
	Notes []string // for the plan
}

// On returns the target with its resources, which have the annotations of their path, relative to
// the target, and their index. Build uses the resources up: it can be called once. What it returns
// keeps the order of the resources and has these annotations too, for all that a function made.
func (s Sequence) On(items []*yaml.RNode) Target {
	steps := slices.Clone(s.Steps)
	for i := range steps {
		steps[i].InFiles = true
	}
	s.Steps = steps
	return &sequence{s, items}
}

// sequence implements Target.
type sequence struct {
	of    Sequence
	items []*yaml.RNode
}

// Kind implements Target.
func (s *sequence) Kind() string { return s.of.Kind }

// Steps implements Target.
func (s *sequence) Steps() []Step { return s.of.Steps }

// Notes implements Target.
func (s *sequence) Notes() []string { return s.of.Notes }

// Build implements Target.
func (s *sequence) Build(ctx context.Context, apply Apply) (Built, error) {
	steps, items := newApplied(s.of.Steps, apply), s.items
	s.items = nil
	for i := range s.of.Steps {
		var err error
		if items, err = steps.inFiles(ctx, i, items); err != nil {
			return Built{}, err
		}
	}
	return builtInFiles(items), steps.missing()
}

// builtInFiles returns resources with the files of their annotations.
func builtInFiles(items []*yaml.RNode) Built {
	b := Built{Items: items, Files: make([]File, len(items))}
	for i, n := range items {
		b.Files[i] = annotation.FileOf(n.YNode())
	}
	return b
}

// inFiles applies a Step to the resources that it selects. What it returns takes their places, what
// it does not return is removed, and what is new comes last.
func (a *applied) inFiles(ctx context.Context, i int, all []*yaml.RNode) ([]*yaml.RNode, error) {
	step := a.steps[i]
	a.ran[i], a.last = true, &a.steps[i]
	var at []int // of the selected resources
	for j, n := range all {
		if step.Only.Selects(n) {
			at = append(at, j)
		}
	}
	given, was := make([]*yaml.RNode, len(at)), make([]placed, len(at))
	for j, k := range at {
		given[j], was[j] = all[k], placed{all[k], resource.FileOf(all[k]), resource.NameOf(all[k])}
	}
	if step.Role == Validator {
		return all, a.validate(step, given, func(copies []*yaml.RNode) ([]*yaml.RNode, error) {
			if err := show(step, copies); err != nil {
				return nil, err
			}
			return a.apply(ctx, i, copies)
		})
	}
	if err := show(step, given); err != nil {
		return nil, err
	}
	out, err := a.apply(ctx, i, given)
	if err != nil {
		return nil, err
	}
	origins := origins(was, step.Only, out)
	merged := slices.Clone(all)
	for _, k := range at {
		merged[k] = nil
	}
	for j, n := range out {
		var before *placed
		if o := origins[j]; o >= 0 {
			before, merged[at[o]] = &was[o], n
		} else {
			merged = append(merged, n)
		}
		if err := settle(step, n, before); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(merged, func(n *yaml.RNode) bool { return n == nil }), nil
}

// placed is what tells a resource from others: by its node, its file, relative to the target, and
// its name.
type placed struct {
	node *yaml.RNode
	file resource.File
	name resource.Name
}

// show writes the paths of resources as the function reads them.
func show(step Step, items []*yaml.RNode) error {
	if step.Only.Dir == "" || !step.Only.Relative {
		return nil
	}
	for _, n := range items {
		f := resource.File{Path: step.Only.Seen(resource.FileOf(n).Path)}
		if err := f.Place(n); err != nil {
			return stepError(step, err.Error())
		}
	}
	return nil
}

// origins returns for each resource that a function returned the index of the one that it was, -1
// for a new one. One that the caller does not know is known by its place in a file and its name,
// else by its place, if the function renamed it, else by its name, if the function moved it.
func origins(was []placed, only Selection, out []*yaml.RNode) []int {
	is, from := make([]placed, len(out)), make([]int, len(out))
	for j, n := range out {
		f := resource.FileOf(n)
		if f.Path != "" {
			f.Path = only.Meant(f.Path)
		}
		is[j], from[j] = placed{n, f, resource.NameOf(n)}, -1
	}
	taken := make([]bool, len(was))
	left := len(out)
	for _, key := range []func(placed) placed{
		func(p placed) placed { return placed{node: p.node} },
		func(p placed) placed { return placed{file: p.file, name: p.name} },
		func(p placed) placed { return placed{file: p.file} },
		func(p placed) placed { return placed{name: p.name} },
	} {
		if left == 0 {
			break
		}
		free := map[placed][]int{}
		for j, p := range was {
			if k := key(p); !taken[j] && (k.node != nil || k.name != resource.Name{} || k.file.Path != "") {
				free[k] = append(free[k], j)
			}
		}
		for j, p := range is {
			if k := key(p); from[j] < 0 && len(free[k]) > 0 {
				from[j], free[k] = free[k][0], free[k][1:]
				taken[from[j]] = true
				left--
			}
		}
	}
	return from
}

// settle checks a resource that a function returned, and writes its path relative to the target. A
// resource that lost its place keeps the one that it had before; nil for a new resource.
func settle(step Step, n *yaml.RNode, before *placed) error {
	if err := (source.Document{File: "what it returned", Node: n.YNode()}).WellFormed(); err != nil {
		return stepError(step, err.Error())
	}
	is := placed{file: resource.FileOf(n), name: resource.NameOf(n)}
	had := placed{name: resource.Name{APIVersion: "needed", Kind: "needed", Name: "needed"}}
	if before != nil {
		had = *before
	}
	switch {
	case is.name.Kind == "":
		return stepError(step, "it returned something without a kind")
	case is.name.APIVersion == "" && had.name.APIVersion != "":
		return stepError(step, fmt.Sprintf("it returned a %s without an apiVersion", is.name.Kind))
	case is.name.Name == "" && had.name.Name != "":
		return stepError(step, fmt.Sprintf("it returned a %s without a name", is.name.Kind))
	}
	to, outside := destination(step.Only, is, had.file)
	if outside {
		return stepError(step, fmt.Sprintf("it set the path of %s to %s, which is outside of the directory", is.name, is.file.Path))
	}
	if to.Path == "" {
		to.Path = path.Join(step.Only.Dir, annotation.DefaultPath(n.YNode()))
	}
	if err := to.Place(n); err != nil {
		return stepError(step, err.Error())
	}
	return nil
}

// destination returns the place of a resource, relative to the target. outside reports whether the
// function set a path that leads out of the target, or out of the directory that it is relative to.
func destination(only Selection, is placed, had resource.File) (to resource.File, outside bool) {
	switch {
	case is.file.Path == "":
		return had, false
	case had.Path == "" || only.Meant(is.file.Path) != path.Clean(had.Path):
		return resource.File{Path: only.Meant(is.file.Path)}, !filepath.IsLocal(path.Clean(is.file.Path))
	case is.file.Index == "":
		return had, false
	}
	return resource.File{Path: had.Path}, false // as it was written
}
