package render

import "github.com/krmcat/krmcat/internal/failure"

// Details implements failure.Detailed: it is its cause that is reported.
func (e *StepError) Details() failure.Details {
	return failure.Details{Position: failure.ParsePosition(e.Where), Step: e.Name, Outer: true}
}
