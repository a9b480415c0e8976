package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// applied runs Steps by the caller's apply, and records what they did.
type applied struct {
	apply Apply
	steps []Step
	ran   map[int]bool
	last  *Step // the Step that ran last
	files filing
	given bridge.Files // of the resources that the executor gives to kustomize

	bridge  *rewrite.Compiled    // for kustomize, which gets the output of the Steps; nil without it
	made    map[resource.ID]bool // the output of the last generator
	added   map[resource.ID]int  // the Step that added a resource
	changes []change             // the changes of resources by Steps

	additions []change // the fields that Steps added
}

func newApplied(steps []Step, apply Apply) *applied {
	return &applied{apply: apply, steps: steps, ran: map[int]bool{}, added: map[resource.ID]int{}, files: filing{put: bridge.Files{}, stray: map[string]bool{}}}
}

// missing returns an error if a Step never ran.
func (a *applied) missing() error {
	var errs []error
	for i, s := range a.steps {
		if !a.ran[i] {
			errs = append(errs, fmt.Errorf("%s: %s %s was declared and never ran", s.Where, s.ID.Kind, s.Name))
		}
	}
	return errors.Join(errs...)
}

// run applies one Step according to its role, as kustomize applies a plugin.
func (a *applied) run(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
	step := a.steps[i]
	a.ran[i], a.last, a.made = true, &a.steps[i], nil
	switch step.Role {
	case Generator:
		out, err := a.apply(ctx, i, nil)
		if err != nil {
			return nil, err
		}
		if out, err = expand(step, out); err != nil {
			return nil, err
		}
		if _, err = a.index(step, out); err != nil {
			return nil, err
		}
		for _, n := range out {
			a.files.added(step.Filed, n)
		}
		a.made = resource.IDsOf(out)
		for id := range a.made {
			a.added[id] = i
		}
		return out, generated(step, out)
	case Validator:
		return items, a.validate(step, items, func(copies []*yaml.RNode) ([]*yaml.RNode, error) {
			return a.apply(ctx, i, copies)
		})
	case Transformer:
	}
	return a.transform(ctx, i, items)
}

// pipeline applies the Steps of a run. Each gets the output of the one before.
func (a *applied) pipeline(ctx context.Context, r *rewrite.Run, items []*yaml.RNode) ([]*yaml.RNode, error) {
	for _, i := range r.Steps {
		err := a.identify(i, items)
		a.ran[i], a.last = true, &a.steps[i]
		if err == nil {
			items, err = a.transform(ctx, i, items)
		}
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// transform replaces items by the output of a function. Resources are matched by their current id:
// known ones keep their place, new ones come last, and missing ones are removed.
func (a *applied) transform(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
	before, given := make([]resource.ID, len(items)), slices.Clone(items) // apply may write into the list
	files, filed := make([]File, len(items)), a.steps[i].Filed
	for j, item := range items {
		before[j], files[j] = resource.IDOf(item), annotation.FileOf(item.YNode())
	}
	passes, items := a.divide(i, items)
	out, err := a.apply(ctx, i, items)
	if err != nil {
		return nil, err
	}
	if out, err = expand(a.steps[i], out); err != nil {
		return nil, err
	}
	byID, err := a.index(a.steps[i], out)
	if err != nil {
		return nil, err
	}
	merged := make([]*yaml.RNode, 0, len(out))
	for j, id := range before {
		n, ok := byID[id]
		switch {
		case ok && passes[j]:
			return nil, stepError(a.steps[i], fmt.Sprintf("it returned %s, which is there already, and which its selectors kept from it", id))
		case passes[j]:
			merged = append(merged, given[j])
		case ok:
			a.compare(i, given[j], n)
			a.files.kept(filed, n, files[j])
			merged = append(merged, n)
			delete(byID, id)
		default:
			a.dropped(i, id)
		}
	}
	for _, n := range out {
		if id := resource.IDOf(n); byID[id] != nil {
			merged = append(merged, n)
			a.added[id] = i
			a.files.added(filed, n)
		}
	}
	return merged, nil
}

// divide returns the resources that Step i sees, and which of all pass by it.
func (a *applied) divide(i int, items []*yaml.RNode) (passes []bool, seen []*yaml.RNode) {
	passes = make([]bool, len(items))
	only := a.steps[i].Only
	if only.All() {
		return passes, items
	}
	for j, n := range items {
		if passes[j] = !only.Selects(n); !passes[j] {
			seen = append(seen, n)
		}
	}
	return passes, seen
}

// expand replaces lists by their items, as kustomize does with the output of plugins.
func expand(step Step, out []*yaml.RNode) ([]*yaml.RNode, error) {
	isList := func(n *yaml.RNode) bool { return strings.HasSuffix(n.GetKind(), "List") }
	if !slices.ContainsFunc(out, isList) {
		return out, nil
	}
	docs := make([]source.Document, len(out))
	for i, n := range out {
		docs[i] = source.Document{File: "what it returned", Node: n.YNode()}
	}
	docs, err := source.Expand(docs)
	if err != nil {
		return nil, stepError(step, err.Error())
	}
	all := make([]*yaml.RNode, len(docs))
	for i, d := range docs {
		all[i] = yaml.NewRNode(d.Node)
	}
	return all, nil
}

// index returns the output by id. It refuses two resources with one id, items that are no
// resources, and everything that makes kustomize or a printer fail without naming the function.
func (a *applied) index(step Step, out []*yaml.RNode) (map[resource.ID]*yaml.RNode, error) {
	byID := make(map[resource.ID]*yaml.RNode, len(out))
	for _, n := range out {
		if err := (source.Document{File: "what it returned", Node: n.YNode()}).WellFormed(); err != nil {
			return nil, stepError(step, err.Error())
		}
		id := resource.IDOf(n)
		switch {
		case id.Kind == "":
			return nil, stepError(step, "it returned something without a kind")
		case id.Name == "":
			return nil, stepError(step, fmt.Sprintf("it returned a %s without a name", id.Kind))
		}
		if _, twice := byID[id]; twice {
			return nil, stepError(step, fmt.Sprintf("it returned %s twice", id))
		}
		why := resource.Misfit(n)
		if why == "" && a.bridge != nil {
			why = cmp.Or(resource.Misremembered(n), a.bridge.Misrecorded(n))
		}
		if why != "" {
			return nil, stepError(step, fmt.Sprintf("it returned %s: %s", id, why))
		}
		byID[id] = n
	}
	return byID, nil
}

// generated refuses annotations that make kustomize fail without naming the function.
func generated(step Step, out []*yaml.RNode) error {
	for _, n := range out {
		notes := n.GetAnnotations()
		if hash, ok := notes[resource.HashKey]; ok {
			if _, err := strconv.ParseBool(hash); err != nil {
				return stepError(step, fmt.Sprintf("%s of %s is true or false, not %q", resource.HashKey, resource.IDOf(n), hash))
			}
		}
		switch b := notes[resource.BehaviorKey]; b {
		case "", "create", "merge", "replace", "unspecified":
		default:
			return stepError(step, fmt.Sprintf("%s of %s is create, merge or replace, not %q", resource.BehaviorKey, resource.IDOf(n), b))
		}
	}
	return nil
}

// OutputError reports that the output of a function cannot be used.
type OutputError struct {
	Step Step
	Msg  string
}

// Error begins with the place of the step.
func (e *OutputError) Error() string {
	return fmt.Sprintf("%s: %s %s: %s", e.Step.Where, e.Step.ID.Kind, e.Step.Name, e.Msg)
}

func stepError(s Step, msg string) error { return &OutputError{s, msg} }

// identify writes the current id of each resource for the function of Step i, as kustomize does for
// its plugins.
func (a *applied) identify(i int, items []*yaml.RNode) error {
	for _, item := range items {
		if err := resource.WriteID(item); err != nil {
			return stepError(a.steps[i], err.Error())
		}
	}
	return nil
}
