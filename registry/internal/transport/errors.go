package transport

import (
	"errors"
	"io"
)

// Error marks a request that got no response, to distinguish it from an invalid response.
type Error struct{ err error }

// Error returns the message of the cause.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// isInterrupted reports whether reading a body ended early for a reason that may be gone at the
// next attempt.
func isInterrupted(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || connectionLost(err)
}
