package render

import (
	"context"
	"errors"

	"github.com/krmcat/krmcat/pipeline"
)

// Consolidate gives the Composition in o.Dir with all that it imports in it, and runs
// nothing. A catalog is read only where an override needs a function's schema: it has to be
// trusted as for Render.
func (r *Renderer) Consolidate(ctx context.Context, o Options) (*pipeline.Consolidated, error) {
	r = r.resolvingOnce()
	r.event(Event{Phase: PhaseLoad, Text: o.Dir})
	c, err := pipeline.Consolidate(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return nil, err
	}
	// What cannot be rendered is not shown as if it could be. And what else is rendered has
	// a say in where a flag's catalog is searched.
	o.Target.Helm.Enabled = true // it is not run to read a target
	t, err := pipeline.Load(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return nil, err
	}
	catalogs, err := r.trustedCatalogs(o, t.Steps())
	if err != nil {
		return nil, err
	}
	var left []*pipeline.Step
	for i := range c.Transformers {
		if s := c.Transformers[i].Step; s != nil && s.SchemaMatters() {
			left = append(left, s)
		}
	}
	for _, catalogs.localOnly = range []bool{true, false} { // what is refused here asks nobody elsewhere
		if left, err = r.merge(ctx, o, left, catalogs); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// merge makes of each config with overrides what the schema of its function says. Those whose
// schema is elsewhere, where the library stays on this machine, are left.
func (r *Renderer) merge(ctx context.Context, o Options, steps []*pipeline.Step, catalogs *trustedCatalogs) (left []*pipeline.Step, err error) {
	var errs []error
	seen := causes{}
	for _, s := range steps {
		b, _, err := r.locate(ctx, o, *s, catalogs)
		if errors.Is(err, errNotLocal) {
			left = append(left, s)
			continue
		}
		if err = stepError(*s, err); seen.isNew(err) {
			errs = append(errs, err)
		}
		*s = b.step
		r.report(PhaseBind, b, 0)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return left, all(errs)
}
