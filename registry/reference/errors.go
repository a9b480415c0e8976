package reference

import "fmt"

// Error says that what a person wrote is not a place, or not a pattern of places.
type Error struct {
	Ref  string // as written, passwords and queries taken out
	What string // "pattern"; "" for a reference
	Err  error  // what is wrong with it
}

func (e *Error) Error() string {
	what := e.What
	if what == "" {
		what = "reference"
	}
	return fmt.Sprintf("%s %q: %v", what, e.Ref, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Refuse is the error for a reference that was read and cannot be used, as it was written.
func Refuse(ref string, err error) *Error { return &Error{Ref: redact(ref), Err: err} }
