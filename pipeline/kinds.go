package pipeline

import "github.com/krmcat/krmcat/internal/failure"

// Is implements the kind of the error for errors.Is.
func (*OutputError) Is(kind error) bool { return kind == failure.Function }

// Details implements failure.Detailed.
func (e *OutputError) Details() failure.Details {
	return failure.Details{
		Message:  "the function gave back what cannot be used: " + e.Msg,
		Position: failure.ParsePosition(e.Step.Where), Step: e.Step.ID.Kind + " " + e.Step.Name,
	}
}
