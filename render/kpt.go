package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline"
)

// Directory is the resources that were read from a directory. *files.Tree implements it.
type Directory interface {
	// Items returns new nodes on each call, with the annotations of their paths and indices.
	Items() []*yaml.RNode
	// Packages returns the directories with a Kptfile, and "." for the directory itself.
	Packages() []string
}

// KptOutput is the result of rendering a kpt package.
type KptOutput struct {
	Output
	// InPlace is what the files of the package become: the resources with the status of the render.
	// If it failed, they are those that were read, or those before the failure if the package wants
	// them. It is nil if nothing may be written.
	InPlace []*yaml.RNode
	// Unwritten returns InPlace for a render whose resources could not be written, because of err.
	Unwritten func(err error) []*yaml.RNode
}

// RenderKpt renders a kpt package. Options.Dir is only for messages, Options.Load is not used.
func (r *Renderer) RenderKpt(ctx context.Context, o Options, dir Directory, k pipeline.KptOptions) (KptOutput, error) {
	var p *pipeline.KptPackage
	o.Load = func(context.Context, pipeline.Options) (pipeline.Target, error) {
		var err error
		if p, err = loadKpt(dir, k); err != nil {
			return nil, err
		}
		return p, nil
	}
	out, err := r.Render(ctx, o)
	done := KptOutput{Output: out, Unwritten: func(err error) []*yaml.RNode {
		items := dir.Items()
		if has, werr := p.WriteStatus(items, kptCalls(p.Steps(), out.Records, nil), err); !has || werr != nil {
			return nil
		}
		return items
	}}
	if ctx.Err() != nil || p == nil {
		return done, err
	}
	items := out.Items
	if err != nil {
		items = dir.Items()
		if partial := p.Partial(); partial != nil {
			items = restored(items, partial)
		}
	} else {
		items = clones(items)
	}
	has, werr := p.WriteStatus(items, kptCalls(p.Steps(), out.Records, err), err)
	if werr == nil && (has || err == nil) {
		done.InPlace = items
	}
	return done, errors.Join(err, werr)
}

// PlanKpt is Plan for a kpt package.
func (r *Renderer) PlanKpt(ctx context.Context, o Options, dir Directory, k pipeline.KptOptions) (*Plan, error) {
	o.Load = func(context.Context, pipeline.Options) (pipeline.Target, error) { return loadKpt(dir, k) }
	return r.Plan(ctx, o)
}

// loadKpt plans a kpt package. If a Kptfile is invalid, the package is not nil if its status can be
// written.
func loadKpt(dir Directory, k pipeline.KptOptions) (*pipeline.KptPackage, error) {
	packages := slices.Clone(dir.Packages())
	for i := range packages {
		if packages[i] == "." {
			packages[i] = ""
		}
	}
	return pipeline.Kpt(dir.Items(), packages, k)
}

func clones(items []*yaml.RNode) []*yaml.RNode {
	out := make([]*yaml.RNode, len(items))
	for i, n := range items {
		out[i] = n.Copy()
	}
	return out
}

// restored adds the resources of files that have none after a render that failed: no file is
// removed then.
func restored(before, after []*yaml.RNode) []*yaml.RNode {
	has := map[string]bool{}
	for _, n := range after {
		has[fileOf(n)] = true
	}
	for _, n := range before {
		if !has[fileOf(n)] {
			after = append(after, n)
		}
	}
	return after
}

func fileOf(n *yaml.RNode) string { return annotation.Text(annotation.Of(n.YNode()), annotation.Path) }

// kptCalls returns the calls of a render for its status: those that were made, in order, and the
// functions that were refused.
func kptCalls(steps []pipeline.Step, records []Record, err error) []pipeline.KptCall {
	calls := map[int]pipeline.KptCall{}
	for i, r := range records { // each Step is called once, in order
		calls[i] = kptCall(i, r)
	}
	var unusable *pipeline.OutputError
	if last := len(records) - 1; last >= 0 && errors.As(err, &unusable) && records[last].Err == nil {
		c := calls[last]
		c.Refusal, c.Exit = unusable.Msg, max(c.Exit, 1)
		calls[last] = c
	}
	if len(records) == 0 {
		for _, e := range stepErrors(err) {
			for i, s := range steps {
				if s.Where == e.Where && stepTitle(s) == e.Name {
					calls[i] = pipeline.KptCall{Step: i, Refusal: e.Err.Error(), Exit: 1}
				}
			}
		}
	}
	var out []pipeline.KptCall
	for _, i := range slices.Sorted(maps.Keys(calls)) {
		out = append(out, calls[i])
	}
	return out
}

// stepErrors returns the errors of Steps that an error joins.
func stepErrors(err error) []*StepError {
	if e, ok := err.(*StepError); ok { //nolint:errorlint // the tree is walked by hand
		return []*StepError{e}
	}
	var found []*StepError
	switch e := err.(type) { //nolint:errorlint // the tree is walked by hand
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			found = append(found, stepErrors(one)...)
		}
	case interface{ Unwrap() error }:
		found = stepErrors(e.Unwrap())
	}
	return found
}

// kptCall describes a call that was made.
func kptCall(i int, r Record) pipeline.KptCall {
	c := pipeline.KptCall{Step: i, Stderr: r.Output.Stderr, Exit: r.Output.Exit}
	if r.Err != nil && c.Exit == 0 {
		c.Exit = 1
		var failed *fnexec.FunctionError
		if errors.As(r.Err, &failed) && failed.Err != nil {
			c.Refusal = failed.Err.Error()
		} else {
			c.Refusal = r.Err.Error()
		}
	}
	for _, res := range r.Output.Results {
		if f := res.Field; f != nil {
			plain := *f
			plain.CurrentValue, plain.ProposedValue = asText(f.CurrentValue), asText(f.ProposedValue)
			res.Field = &plain
		}
		var n yaml.Node
		if err := n.Encode(res); err == nil {
			c.Results = append(c.Results, pipeline.KptResult{Node: &n, IsError: res.Severity == fnexec.SeverityError})
		}
	}
	return c
}

// asText writes a value as kpt writes it in a status: as text.
func asText(v any) any {
	if v == nil {
		return nil
	}
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	n.Style = yaml.FlowStyle
	return strings.TrimSpace(yaml.NewRNode(&n).MustString())
}
