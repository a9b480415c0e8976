package render

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/fnexec"
)

// loaded is a function that can be called.
type loaded struct {
	trusted
	runner fnexec.Runner
}

// ready fetches and loads every function, by digest only.
func (r *Renderer) ready(ctx context.Context, ts []trusted) ([]loaded, error) {
	out := make([]loaded, len(ts))
	errs := make([]error, len(ts))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, t := range ts {
		g.Go(func() error {
			r.event(Event{Phase: PhaseReady, Text: "loading " + t.prepared.Needs.Title})
			runner, err := t.prepared.Load(ctx, t.key, t.grant)
			out[i], errs[i] = loaded{t, runner}, stepError(t.step, err)
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, all(errs)
}
