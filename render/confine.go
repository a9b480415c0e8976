package render

import (
	"context"
	"fmt"

	"github.com/krmcat/krmcat/sandbox"
)

// confine determines how programs of this machine are confined. If they must be confined and
// cannot, each of their Steps is refused.
func (a *approval) confine(ctx context.Context) {
	for i := range a.steps {
		t := &a.steps[i]
		if t.confinementChecked || !t.grant.Valid() || !t.prepared.Needs.Request.HostExec {
			continue
		}
		t.confinementChecked = true
		c, err := t.grant.Confinement(ctx)
		if err != nil {
			t.refuse(err)
			continue
		}
		if !a.confinementReported {
			a.confinementReported = true
			a.tellConfinement(c)
		}
	}
}

// probeConfinement starts to determine, in parallel, how processes are confined on this machine,
// which takes as long as a function. The result is kept: later calls return it, or its error. done
// waits until it has ended.
func probeConfinement(ctx context.Context, a sandbox.Allow) (done func()) {
	if a.On == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = a.On.Engine(ctx)
	}()
	return func() { <-ended }
}

// tellConfinement reports how programs of this machine are confined, as a warning if it is less
// than intended.
func (r *Renderer) tellConfinement(c sandbox.Confinement) {
	why := sandbox.ListMissing(c.Missing)
	if why != "" {
		why = " (" + why + ")"
	}
	who := ""
	if c.Root {
		who = ", as root, because krmcat cannot switch to another user here"
	}
	e := Event{Phase: PhaseTrust}
	switch {
	case !c.Asked:
		e.Text = "programs of this machine are not confined"
	case c.Engine == sandbox.Landlocked:
		e.Warning = true
		e.Text = "programs of this machine are confined by Landlock alone" + who + ": they can see other processes, and processes that they start may outlive them" + why
	case c.Engine == "":
		e.Warning = true
		e.Text = "programs of this machine run unconfined" + why
	default:
		e.Text = fmt.Sprintf("programs of this machine are confined by %s%s%s", c.Engine, who, why)
	}
	r.event(e)
}
