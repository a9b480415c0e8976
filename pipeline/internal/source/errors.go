package source

import (
	"io/fs"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// SyntaxError reports an error in the files of a target.
type SyntaxError struct {
	Where string // file or file:line
	Msg   string
	Err   error // the cause; may be nil

	// Kind is failure.NotFound if a file does not exist, failure.Untrusted if the content exceeds a
	// limit, failure.NotPermitted if a path leads outside the permitted directories, and "" for
	// everything else.
	Kind failure.Kind
	// Permit is the flag of `kustomize build` that permits what was refused, "" for none.
	Permit string
}

// Flag returns Permit.
func (e *SyntaxError) Flag() string { return e.Permit }

// Error begins with the file and line.
func (e *SyntaxError) Error() string {
	s := e.Where + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// The flags of `kustomize build` that permit what is refused by default.
const (
	anywhereFlag = disk.AnywhereFlag
	HelmFlag     = "--enable-helm"
)

// Restricted returns an error about a file that the load restrictor does not permit.
func Restricted(where, what, dir string) error {
	return &SyntaxError{Where: where, Msg: what + " is not in or below " + dir + ", and the load restrictor keeps files there", Permit: anywhereFlag}
}

// Is implements the kind of the error for errors.Is. Without the flag that permits it, something is
// not permitted.
func (e *SyntaxError) Is(other error) bool {
	return e.Permit != "" && other == failure.NotPermitted || e.Kind != "" && other == e.Kind || e.Kind == failure.NotFound && other == fs.ErrNotExist
}

// Details implements failure.Detailed.
func (e *SyntaxError) Details() failure.Details {
	d := failure.Details{Message: e.Msg, Position: failure.ParsePosition(e.Where), Flag: e.Permit}
	if e.Err != nil {
		d.Message += ": " + e.Err.Error()
	}
	return d
}
