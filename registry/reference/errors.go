package reference

import "fmt"

// Error reports that the text of a user is not a reference, or not a pattern.
type Error struct {
	Ref  string // as written, without passwords and queries
	What string // "pattern"; "" for a reference
	Err  error  // what is wrong with it
}

// Error returns `reference "REF": cause`.
func (e *Error) Error() string {
	what := e.What
	if what == "" {
		what = "reference"
	}
	return fmt.Sprintf("%s %q: %v", what, e.Ref, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Refuse returns the error for a reference that was parsed and cannot be used, as it was written.
func Refuse(ref string, err error) *Error { return &Error{Ref: redact(ref), Err: err} }
