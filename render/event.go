package render

// Phase is a part of the line.
type Phase string

// The phases, in order.
const (
	PhaseLoad  Phase = "load"
	PhaseBind  Phase = "bind"
	PhaseTrust Phase = "trust"
	PhaseReady Phase = "ready"
	PhaseRun   Phase = "run"
)

// Event is something that a person may want to see while a render goes on.
type Event struct {
	Phase   Phase
	Text    string
	Where   string // file:line, where there is one
	Warning bool
	Audit   bool // what a policy that is tried out would have refused
}

func (r *Renderer) event(e Event) {
	if r.Notify != nil {
		r.Notify(e)
	}
}
