package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// approval takes the Steps of a target to what may be run.
type approval struct {
	*Renderer
	options             Options
	catalogs            *trustedCatalogs
	steps               []trusted
	confinementReported bool // what confines programs of this machine
}

// extent is how far approval goes where something is refused.
type extent int

// The extents. What Render is told first is the same in all of them.
const (
	untilRefusal extent = iota // to the end of the round in which it is
	everyStep                  // to the end, for what is not refused
	localRound                 // no further than this machine, whatever is refused
)

// approve runs the phases bind and trust in two rounds. The first stays on this machine:
// what it refuses, nobody else needs to be asked about. The second asks for what is left,
// and for programs only when every reach is granted. A render ends with the first thing that
// is refused; a plan goes on, and asks for nothing on behalf of what is refused. The error is
// what was refused in the first round in which something was.
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

// reportUnchecked says how many functions nobody has looked at, since others are refused: a plan may
// refuse more than the render that it is of.
func (a *approval) reportUnchecked() {
	n := 0
	for i := range a.steps {
		if t := &a.steps[i]; t.progress != verified && !t.isRefused() {
			n++
		}
	}
	if n > 0 {
		a.event(Event{Phase: PhaseTrust, Text: fmt.Sprintf("functions that were not looked at, since no host is asked where something is refused: %d", n), Warning: true})
	}
}

// phase does its part for every Step that is ready for it.
type phase func(context.Context)

// refusals are all that was refused so far, in the order of the Steps.
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

// causes are those of the errors of Steps.
type causes map[error]bool

// isNew tells the first error of each cause. Several Steps may share one, such as a
// catalog that cannot be reached: the first of them stands for the rest.
func (c causes) isNew(err error) bool {
	cause := errors.Unwrap(err)
	if err == nil || c[cause] {
		return false
	}
	c[cause] = true
	return true
}

// confinementRefuses tells whether how processes are confined may be a reason not to run
// them. Otherwise nobody waits for that to be found out.
func (a *approval) confinementRefuses() bool {
	return a.options.Allow.Confine == sandbox.ConfineRequire || len(a.options.Allow.Mounts) > 0
}
