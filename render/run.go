package render

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// run builds the target and calls every function through fnexec. After a deferred failure the other
// functions run. The render then fails at the end, with all records and without items.
func (r *Renderer) run(ctx context.Context, o Options, t pipeline.Target, fns []loaded) (Output, error) {
	out := Output{Kind: t.Kind()}
	var deferred []error
	b := budget{limits: o.Allow.Limits.OrDefault()}
	built, err := t.Build(ctx, func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		r.event(Event{Phase: PhaseRun, Text: fmt.Sprintf("%s %s", fns[i].step.ID.Kind, fns[i].step.Name), Where: fns[i].step.Where})
		given := slices.Clone(items) // the function may change the list
		got, err := call(ctx, fns[i], items, o.FailOn)
		if fns[i].step.InFiles {
			keepNodes(given, got)
		}
		for _, what := range got.Strange {
			r.event(Event{Phase: PhaseRun, Text: fns[i].step.ID.Kind + " " + fns[i].step.Name + ": " + what, Where: fns[i].step.Where, Warning: true})
		}
		if err == nil {
			r.tellSilent(fns[i].step, got)
			err = b.spend(fns[i], got)
		}
		said, failed := got, err
		said.Items, said.From = nil, nil // otherwise the records would keep every version of every resource in memory
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
		out.Items, out.Files = built.Items, built.Files
	}
	return out, err
}

// keepNodes replaces each item of the output that is one of the input by the RNode that it was. Of
// several that are the same, the first is replaced.
func keepNodes(given []*yaml.RNode, got fnexec.Output) {
	for j, at := range got.From {
		if at >= 0 && given[at] != nil {
			*given[at] = *got.Items[j]
			got.Items[j], given[at] = given[at], nil
		}
	}
}

// tellSilent warns of a generator that succeeded without output. kustomize treats it as no
// resources, as krmcat does; but a generator that failed silently with exit code 0 looks the same.
func (r *Renderer) tellSilent(step pipeline.Step, got fnexec.Output) {
	if step.Role == pipeline.Generator && !step.Validates() && !got.Wrote && got.Deferred == nil {
		r.event(Event{Phase: PhaseRun, Text: "generator " + step.Name + " wrote nothing to stdout", Where: step.Where, Warning: true})
	}
}

// budget limits what all functions of a render add, by the limits of one function, because all of
// it is in memory at the end.
type budget struct {
	limits sandbox.Limits
	items  int
	bytes  int64
}

// spend counts what a function added to its input.
func (b *budget) spend(f loaded, got fnexec.Output) error {
	if f.step.Role == pipeline.Validator { // its output is discarded
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
	config, err := f.config()
	if err != nil {
		return fnexec.Output{}, stepError(f.step, err)
	}
	got, err := fnexec.Call(ctx, f.runner, fnexec.Input{
		Config:       config,
		Items:        items,
		KeepComments: f.step.InFiles || f.step.Remarks && slices.ContainsFunc(items, hasComments),
		DeferFailure: f.prepared.Needs.DeferFailure,
		Validator:    f.step.Validates(),
		FailOn:       failOn,
		Limits:       f.grant.Limits(),
		NeedsOutput:  f.step.Role == pipeline.Transformer,
	})
	inTarget(f.step.Only, got.Results)
	failed := got.Deferred
	if failed != nil || errors.As(err, &failed) {
		f.explain(failed)
	}
	return got, stepError(f.step, err)
}

// hasComments reports whether there is a comment in a resource. Copying comments costs more than
// looking for them.
func hasComments(n *yaml.RNode) bool { return commented(n.YNode()) }

func commented(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" || slices.ContainsFunc(n.Content, commented)
}

// config returns the functionConfig as it is now. One that holds the program itself must be the one
// that was approved.
func (f loaded) config() (*yaml.RNode, error) {
	latest := f.step.Latest
	if latest == nil || latest.Config == nil {
		return f.step.Config, nil
	}
	if f.prepared.Needs.Literal == nil {
		return latest.Config, nil
	}
	was, err := f.step.Config.String()
	if err != nil {
		return nil, err
	}
	is, err := latest.Config.String()
	if err == nil && is != was {
		err = failure.Untrusted.Mark(fmt.Errorf("its functionConfig %s holds its program, and an earlier function changed it", latest.File))
	}
	return f.step.Config, err
}

// inTarget writes the files of results relative to the target.
func inTarget(only pipeline.Selection, results []fnexec.Result) {
	for i := range results {
		if f := results[i].File; f != nil && f.Path != "" && only.Dir != "" && filepath.IsLocal(f.Path) {
			f.Path = only.Meant(f.Path)
		}
	}
}

// explain adds the name of the function to a failure, and the restrictions that it ran into.
func (f loaded) explain(failed *fnexec.FunctionError) {
	failed.Title = f.prepared.Needs.Title
	said := failed.Stderr
	var exit *fnexec.ExitError
	if errors.As(failed, &exit) { // how the process ended
		said += "\n" + exit.Detail
	}
	failed.Restrictions = f.grant.Restrictions(said)
}

// reference returns the reference of what ran, with its digest if it has one.
func (t trusted) reference() string {
	switch {
	case t.artifact.From.Scheme == "" && t.prepared.Needs.From.Scheme == "": // its function was not found
		return ""
	case t.artifact.From.Scheme == "": // its program was not found
		return t.prepared.Needs.From.Display()
	case t.artifact.Root.Digest == "":
		return t.artifact.From.Display()
	}
	return t.artifact.Pinned().Display()
}

// recorded returns the reference for results. A program found by PATH, and one that a Kptfile
// names, is written as in the config, because its location differs between machines.
func (t trusted) recorded() string {
	if in := t.step.Inline; in != nil && in.Command != "" {
		return in.Command
	}
	if t.prepared.Needs.Look != nil && t.artifact.Root.Digest == "" {
		return t.prepared.Needs.From.Display()
	}
	return t.reference()
}
