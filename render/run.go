package render

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/target"
)

// run builds the target, with every function called through fnexec.
func (r *Renderer) run(ctx context.Context, t target.Target, fns []loaded) (Output, error) {
	out := Output{Kind: t.Kind()}
	var err error
	out.Items, err = t.Build(ctx, func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		r.event(Event{Phase: PhaseRun, Text: fmt.Sprintf("%s %s", fns[i].step.ID.Kind, fns[i].step.Name), Where: fns[i].step.Where})
		got, err := call(ctx, fns[i], items)
		said := got
		said.Items = nil // a record that kept them would hold every state of every resource
		out.Records = append(out.Records, Record{
			Step: fns[i].step, Kind: fns[i].kind, Ref: fns[i].reference(), Output: said, Err: err,
		})
		return got.Items, err
	})
	return out, err
}

func call(ctx context.Context, f loaded, items []*yaml.RNode) (fnexec.Output, error) {
	got, err := fnexec.Call(ctx, f.runner, fnexec.Input{
		Config:       f.step.Config,
		Items:        items,
		DefaultPaths: true,
		DeferFailure: f.prepared.Needs.DeferFailure,
		Limits:       f.grant.Limits(),
		NeedsOutput:  f.step.Role == target.Transformer,
	})
	var failed *fnexec.FunctionError
	if errors.As(err, &failed) {
		failed.Title = f.prepared.Needs.Title
		said := failed.Stderr
		var exit *fnexec.ExitError
		if errors.As(err, &exit) { // how the system ended it
			said += "\n" + exit.Detail
		}
		failed.Walls = f.grant.Walls(said)
	}
	return got, stepError(f.step, err)
}

// reference is what ran, by digest where there is one.
func (t trusted) reference() string {
	switch {
	case t.artifact.From.Scheme == "": // it was not found
		return t.prepared.Needs.From.Display()
	case t.artifact.Root.Digest == "":
		return t.artifact.From.Display()
	}
	return t.artifact.Pinned().Display()
}
