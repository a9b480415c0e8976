package render

import (
	"context"

	"github.com/krmcat/krmcat/target"
)

// Consolidate gives the Composition in o.Dir with all that it imports in it, and runs
// nothing. A catalog is read only where an override needs a function's schema: it has to be
// trusted as for Render.
func (r *Renderer) Consolidate(ctx context.Context, o Options) (*target.Consolidated, error) {
	r = r.resolvingOnce()
	r.event(Event{Phase: PhaseLoad, Text: o.Dir})
	c, err := target.Consolidate(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return nil, err
	}
	var steps []*target.Step
	for _, t := range c.Transformers {
		if t.Step != nil && t.Step.SchemaMatters() {
			steps = append(steps, t.Step)
		}
	}
	if len(steps) == 0 {
		return c, nil
	}
	return c, r.mergeAll(ctx, o, steps)
}

// mergeAll merges the configs of Steps as the schemas of their functions say.
func (r *Renderer) mergeAll(ctx context.Context, o Options, steps []*target.Step) error {
	// What else is rendered has a say in where a flag's catalog is searched.
	o.Target.Helm.Enabled = true // it is not run to read a target
	t, err := target.Load(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return err
	}
	lib, err := r.library(o, t.Steps())
	if err != nil {
		return err
	}
	errs := make([]error, len(steps))
	for i, s := range steps {
		b, _, err := r.locate(ctx, o, *s, lib)
		*s, errs[i] = b.step, stepError(*s, err)
		r.report(PhaseBind, b, 0)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return all(distinct(errs))
}
