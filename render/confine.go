package render

import (
	"context"
	"fmt"

	"github.com/krmcat/krmcat/sandbox"
)

// confine finds out how programs of this machine are confined, before anything is asked of
// them: where they have to be and cannot, each of their steps is refused.
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

// probeConfinement finds out meanwhile how processes are confined on this machine: trying it takes as
// long as a function does. Who needs it asks again, and gets the error. done waits for it: nothing that it started
// is left behind.
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

// tellConfinement says what confines programs of this machine; as a warning where that is
// less than was meant.
func (r *Renderer) tellConfinement(c sandbox.Confinement) {
	why := sandbox.ListMissing(c.Missing)
	if why != "" {
		why = " (" + why + ")"
	}
	who := ""
	if c.Root {
		who = ", as root, since root can become no other user here"
	}
	e := Event{Phase: PhaseTrust}
	switch {
	case !c.Asked:
		e.Text = "programs of this machine are not confined"
	case c.Engine == sandbox.Landlocked:
		e.Warning = true
		e.Text = "programs of this machine are confined by Landlock alone" + who + ": they see that there are other processes, and what they start may outlive them" + why
	case c.Engine == "":
		e.Warning = true
		e.Text = "programs of this machine run unconfined" + why
	default:
		e.Text = fmt.Sprintf("programs of this machine are confined by %s%s%s", c.Engine, who, why)
	}
	r.event(e)
}
