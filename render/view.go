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
	// What cannot be rendered is not shown as if it could be. And what else is rendered has
	// a say in where a flag's catalog is searched.
	o.Target.Helm.Enabled = true // it is not run to read a target
	t, err := target.Load(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return nil, err
	}
	lib, err := r.library(o, t.Steps())
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range c.Transformers {
		s := c.Transformers[i].Step
		if s == nil || !s.SchemaMatters() {
			continue
		}
		b, _, err := r.locate(ctx, o, *s, lib)
		errs = append(errs, stepError(*s, err))
		*s = b.step
		r.report(PhaseBind, b, 0)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := all(distinct(errs)); err != nil {
		return nil, err
	}
	return c, nil
}
