package scratch

// What the errors of this package mean to the user, for package failure.

import (
	"errors"
	"runtime"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// Is implements the kind of the error for errors.Is.
func (e *Error) Is(kind error) bool {
	if e.foreign() {
		return kind == failure.Untrusted
	}
	return kind == failure.NotFound
}

// foreign reports whether others could exchange what lies there.
func (e *Error) foreign() bool { return errors.As(e.Err, new(*ownfile.ForeignError)) }

// Details implements failure.Detailed.
func (e *Error) Details() failure.Details {
	variable, which := "TMPDIR", "that can be written to"
	if runtime.GOOS == "windows" {
		variable = "TMP"
	}
	if e.foreign() {
		which = "of your own"
	}
	return failure.Details{Try: variable + "=DIR, a directory " + which}
}
