package render

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// run builds the target, with every function called through fnexec. A function whose failure
// is deferred lets the others run: the render fails in the end, with all that was said, and
// nothing comes out of it.
func (r *Renderer) run(ctx context.Context, o Options, t pipeline.Target, fns []loaded) (Output, error) {
	out := Output{Kind: t.Kind()}
	var deferred []error
	b := budget{limits: o.Allow.Limits.OrDefault()}
	items, err := t.Build(ctx, func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		r.event(Event{Phase: PhaseRun, Text: fmt.Sprintf("%s %s", fns[i].step.ID.Kind, fns[i].step.Name), Where: fns[i].step.Where})
		got, err := call(ctx, fns[i], items, o.FailOn)
		for _, what := range got.Strange {
			r.event(Event{Phase: PhaseRun, Text: fns[i].step.ID.Kind + " " + fns[i].step.Name + ": " + what, Where: fns[i].step.Where, Warning: true})
		}
		if err == nil {
			r.tellSilent(fns[i].step, got)
			err = b.spend(fns[i], got)
		}
		said, failed := got, err
		said.Items = nil // a record that kept them would hold every state of every resource
		if got.Deferred != nil {
			failed = stepError(fns[i].step, got.Deferred)
			deferred = append(deferred, failed)
		}
		out.Records = append(out.Records, Record{
			Step: fns[i].step, Kind: fns[i].kind, Ref: fns[i].recorded(), Output: said, Err: failed,
		})
		return got.Items, err
	})
	if err = all(append(deferred, err)); err == nil {
		out.Items = items
	}
	return out, err
}

// tellSilent warns of a generator that went well without a word. To kustomize that is no
// resources, and so it is here; but one that died silently with exit code 0 looks the same.
func (r *Renderer) tellSilent(step pipeline.Step, got fnexec.Output) {
	if step.Role == pipeline.Generator && !step.Validates() && !got.Wrote && got.Deferred == nil {
		r.event(Event{Phase: PhaseRun, Text: "generator " + step.Name + " wrote nothing to stdout", Where: step.Where, Warning: true})
	}
}

// budget bounds what the functions of a render add together, by what one of them may return:
// in the end all of it is held at once.
type budget struct {
	limits sandbox.Limits
	items  int
	bytes  int64
}

// spend counts what a function added to the items that it was given.
func (b *budget) spend(f loaded, got fnexec.Output) error {
	if f.step.Role == pipeline.Validator { // nothing of it is kept
		return nil
	}
	b.items += max(0, got.AddedItems)
	b.bytes += max(0, got.Added)
	var over error
	switch {
	case b.items > b.limits.Items:
		over = &fnexec.ItemLimitError{Limit: b.limits.Items, Got: b.items, All: true}
	case b.bytes > b.limits.Output:
		over = &fnexec.AddedLimitError{Limit: b.limits.Output}
	default:
		return nil
	}
	return stepError(f.step, &fnexec.FunctionError{Title: f.prepared.Needs.Title, Err: over, Results: got.Results, Stderr: got.Stderr})
}

func call(ctx context.Context, f loaded, items []*yaml.RNode, failOn fnexec.FailOn) (fnexec.Output, error) {
	got, err := fnexec.Call(ctx, f.runner, fnexec.Input{
		Config:       f.step.Config,
		Items:        items,
		DefaultPaths: true,
		DeferFailure: f.prepared.Needs.DeferFailure,
		Validator:    f.step.Validates(),
		FailOn:       failOn,
		Limits:       f.grant.Limits(),
		NeedsOutput:  f.step.Role == pipeline.Transformer,
	})
	failed := got.Deferred
	if failed != nil || errors.As(err, &failed) {
		f.explain(failed)
	}
	return got, stepError(f.step, err)
}

// explain adds to a failure which function it was, and what it ran into.
func (f loaded) explain(failed *fnexec.FunctionError) {
	failed.Title = f.prepared.Needs.Title
	said := failed.Stderr
	var exit *fnexec.ExitError
	if errors.As(failed, &exit) { // how the system ended it
		said += "\n" + exit.Detail
	}
	failed.Walls = f.grant.Walls(said)
}

// reference is what ran, by digest where there is one.
func (t trusted) reference() string {
	switch {
	case t.artifact.From.Scheme == "" && t.prepared.Needs.From.Scheme == "": // its function was not found
		return ""
	case t.artifact.From.Scheme == "": // its program was not
		return t.prepared.Needs.From.Display()
	case t.artifact.Root.Digest == "":
		return t.artifact.From.Display()
	}
	return t.artifact.Pinned().Display()
}

// recorded is reference as results are to say it: a program that was found by PATH is called as
// it was written, for where it is differs from machine to machine.
func (t trusted) recorded() string {
	if t.prepared.Needs.Look != nil && t.artifact.Root.Digest == "" {
		return t.prepared.Needs.From.Display()
	}
	return t.reference()
}
