package render

// Phase is one of the phases of a render.
type Phase string

// The phases, in order.
const (
	PhaseLoad  Phase = "load"
	PhaseBind  Phase = "bind"
	PhaseTrust Phase = "trust"
	PhaseReady Phase = "ready"
	PhaseRun   Phase = "run"
)

// Event is a message about the progress of a render.
type Event struct {
	Phase   Phase
	Text    string
	Where   string // file:line, or ""
	Warning bool
	Audit   bool // a policy in audit mode would refuse it
}

func (r *Renderer) event(e Event) {
	if r.Notify != nil {
		r.Notify(e)
	}
}
