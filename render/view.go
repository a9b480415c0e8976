package render

import (
	"context"
	"errors"

	"github.com/krmcat/krmcat/pipeline"
)

// Consolidate returns the Composition in o.Dir with all its imports, and runs nothing. It reads a
// catalog only if an override needs the schema of a function. Such a catalog must be trusted as for
// Render.
func (r *Renderer) Consolidate(ctx context.Context, o Options) (*pipeline.Consolidated, error) {
	r = r.resolvingOnce()
	r.event(Event{Phase: PhaseLoad, Text: o.Dir})
	c, err := pipeline.Consolidate(ctx, r.FS, o.Dir, o.Target)
	if err != nil {
		return nil, err
	}
	// A target that cannot be rendered is an error. All Steps are needed to know which
	// catalogs of flags are declared.
	o.Target.Helm.Enabled = true // loading does not run helm
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
	for _, catalogs.localOnly = range []bool{true, false} { // refuse locally before any request
		if left, err = r.merge(ctx, o, left, catalogs); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// merge merges the overrides of each config by the schema of its function. left are the Steps whose
// schema is not local, if only local catalogs are read.
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
