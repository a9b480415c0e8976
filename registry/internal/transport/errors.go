package transport

import (
	"errors"
	"io"
)

// Error marks what went wrong before there was an answer, so that it can be
// told from an answer that does not fit.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// brokenOff reports whether reading a body ended before its end for a reason that may
// have gone at the next try.
func brokenOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || connectionLost(err)
}
