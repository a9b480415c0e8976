package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// approval checks the Steps of a target before they may run.
type approval struct {
	*Renderer
	options             Options
	catalogs            *trustedCatalogs
	steps               []trusted
	confinementReported bool
}

// extent is how far approval continues after a refusal.
type extent int

// The extents. They all return the same error.
const (
	untilRefusal extent = iota // to the end of its round
	everyStep                  // to the end, for Steps that are not refused
	localRound                 // the local round only
)

// approve runs the phases bind and trust in two rounds. The first uses only this machine, so that
// no request is made for what it refuses. The second makes requests for the rest, and for programs
// only if every permission was granted. A render ends with the first round that refuses something.
// A plan continues, without requests for refused Steps. The error is what was refused in the first
// round that refused something. See docs/adr/0022.
func (r *Renderer) approve(ctx context.Context, o Options, steps []pipeline.Step, how extent) ([]trusted, error) {
	catalogs, err := r.trustedCatalogs(o, steps)
	if err != nil {
		return nil, err
	}
	a := &approval{Renderer: r, options: o, catalogs: catalogs, steps: make([]trusted, len(steps))}
	for i, s := range steps {
		a.steps[i].step = s
	}
	rounds := [][]phase{{a.bind, a.permit, a.trust}, {a.bind, a.permit}, {a.trust, a.confine}}
	if how == localRound {
		rounds = rounds[:1]
	}
	catalogs.localOnly = true
	for _, round := range rounds {
		for _, do := range round {
			if do(ctx); ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		catalogs.localOnly = false
		if err == nil {
			err = a.refusals()
		}
		if err != nil && how == untilRefusal {
			break
		}
	}
	if how != everyStep {
		a.reportUnchecked()
	}
	return a.steps, err
}

// reportUnchecked reports how many functions were not evaluated because others were refused: a plan
// may refuse more than its render.
func (a *approval) reportUnchecked() {
	n := 0
	for i := range a.steps {
		if t := &a.steps[i]; t.progress != verified && !t.isRefused() {
			n++
		}
	}
	if n > 0 {
		a.event(Event{Phase: PhaseTrust, Text: fmt.Sprintf("functions that were not checked, because no request is made after a refusal: %d", n), Warning: true})
	}
}

// phase processes every Step that is ready for it.
type phase func(context.Context)

// refusals returns all refusals so far, in the order of the Steps.
func (a *approval) refusals() error {
	var errs []error
	seen := causes{}
	for _, t := range a.steps {
		if seen.isNew(t.unbound) {
			errs = append(errs, t.unbound)
		}
		errs = append(errs, t.refused...)
	}
	return all(errs)
}

// causes are the causes of errors of Steps.
type causes map[error]bool

// isNew reports whether err is the first error with its cause. Several Steps may share one, such as
// an unreachable catalog; only the first is reported.
func (c causes) isNew(err error) bool {
	cause := errors.Unwrap(err)
	if err == nil || c[cause] {
		return false
	}
	c[cause] = true
	return true
}

// confinementRefuses reports whether the confinement of processes may be a reason to refuse them.
// Otherwise it is determined later.
func (a *approval) confinementRefuses() bool {
	return a.options.Allow.Confine == sandbox.ConfineRequire || len(a.options.Allow.Mounts) > 0
}
