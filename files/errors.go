package files

import (
	"fmt"

	"github.com/krmcat/krmcat/internal/failure"
)

// PlaceError reports a resource that asks for a file it must not be written to.
type PlaceError struct {
	Resource string // "v1 ConfigMap app/one"
	Path     string // as the resource has it
	Why      string
}

// Error implements error.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s cannot be written to %q: %s", e.Resource, e.Path, e.Why)
}

// Is implements the kind of the error for errors.Is.
func (*PlaceError) Is(kind error) bool { return kind == failure.NotPermitted }

// ConflictError reports a file that is not as it was when the directory was read.
type ConflictError struct {
	Path string // relative to the directory
	Why  string
}

// Error implements error.
func (e *ConflictError) Error() string {
	return e.Path + " " + e.Why + ": nothing was written, run the command again"
}

// limitError reports more than is read.
func limitError(format string, args ...any) error {
	return failure.Untrusted.Mark(fmt.Errorf(format, args...))
}
