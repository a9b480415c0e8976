package failure

import (
	"errors"
	"io/fs"
	"syscall"
)

// Kind is what an error means to the user. It is an error itself, for errors.Is.
type Kind string

// The kinds. What is refused for safety is NotPermitted or Untrusted.
const (
	// Usage says that the command line, or a file of the user's own, is wrong.
	Usage Kind = "usage"
	// NotPermitted says that something would be read, written or sent without a permission.
	NotPermitted Kind = "not permitted"
	// Untrusted says that content is not trusted, or is refused as it is: it is larger, deeper or
	// longer than is read, was changed, or claims what is not proved.
	Untrusted Kind = "not trusted"
	// NotFound says that something is not there.
	NotFound Kind = "not found"
	// Unreachable says that a server could not be reached, or did not answer.
	Unreachable Kind = "could not reach"
	// Function says that a function failed, or that its output cannot be used or exceeds a limit.
	Function Kind = "function failed"
	// Unexpected is the kind of all other errors.
	Unexpected Kind = "unexpected"
)

// Error implements error.
func (k Kind) Error() string { return string(k) }

// Mark makes an error one of this kind. Its text does not change. For nil it returns nil.
func (k Kind) Mark(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err, k}
}

// marked is an error with a mark.
type marked struct {
	err error
	as  Kind
}

func (m *marked) Error() string { return m.err.Error() }

// Is implements the kind of the error for errors.Is.
func (m *marked) Is(other error) bool { return other == m.as }

// Unwrap returns the error that is marked.
func (m *marked) Unwrap() error { return m.err }

// kinds lists the kinds but Unexpected. Of several that an error is, the first counts.
func kinds() []Kind { return []Kind{Usage, NotPermitted, Untrusted, NotFound, Unreachable, Function} }

// Of returns the kind of an error: the first of Usage, NotPermitted, Untrusted, NotFound,
// Unreachable and Function that it, or an error below it, is.
func Of(err error) Kind {
	for _, k := range kinds() {
		if errors.Is(err, k) || k == NotFound && absent(err) {
			return k
		}
	}
	return Unexpected
}

// absent reports whether an error of the system says that a file is not there, or is no program.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOEXEC) }
