package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/catalog"
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
		b, err := r.merged(ctx, o, *s, lib)
		*s, errs[i] = b.step, stepError(*s, err)
		r.report(PhaseBind, b, 0)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return all(distinct(errs))
}

// merged is bindStep as far as the config goes: how the function runs is not looked at.
func (r *Renderer) merged(ctx context.Context, o Options, s target.Step, lib *library) (bound, error) {
	b := bound{step: s}
	sh, err := lib.shelf(s)
	if err != nil {
		return b, err
	}
	fn, found, err := sh.find(ctx, s.ID)
	before := sh.untrusted(found)
	var unresolved *UnresolvedError
	switch {
	case errors.As(err, &unresolved) && s.Inline != nil:
		before = unresolved.Untrusted
	case errors.As(err, &unresolved):
		unresolved.Elsewhere = lib.elsewhere(s)
		return b, err
	case err != nil:
		return b, err
	case s.Inline != nil:
		before = nil // as for Render
	case len(before) > 0 && o.Policy.RequireDigests:
		searched := []string{sh.slots[found].source.ref.Display()}
		return b, &UnresolvedError{NotFound: &catalog.NotFoundError{ID: s.ID, Searched: searched}, Untrusted: before}
	}
	if len(before) > 0 {
		b.warn(fmt.Sprintf("how lists of %s merge is for its schema to say, and a declared catalog that is not trusted might have had it: %s",
			s.ID, strings.Join(declared(before), ", ")))
	}
	b.step, err = s.WithSchema(fn.Schema)
	return b, err
}
