package render

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// loaded is a function with a runner.
type loaded struct{ trusted }

// ready fetches, by digest only, and loads every function that is not loaded yet.
func (r *Renderer) ready(ctx context.Context, ts []trusted) ([]loaded, error) {
	out := make([]loaded, len(ts))
	errs := make([]error, len(ts))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, t := range ts {
		g.Go(func() error {
			if t.runner == nil {
				errs[i] = stepError(t.step, r.loadStep(ctx, &t))
			}
			out[i] = loaded{t}
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, all(errs)
}

// loadStep loads one function.
func (r *Renderer) loadStep(ctx context.Context, t *trusted) (err error) {
	r.event(Event{Phase: PhaseReady, Text: "loading " + t.prepared.Needs.Title})
	t.runner, err = t.prepared.Load(ctx, t.key, t.grant)
	return err
}
