package problem

import (
	"errors"
	"fmt"
	"os"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry/reference"
)

// LocalError reports an error of this machine's file system. Another attempt or a network would not
// change it.
type LocalError struct{ err error }

// Error returns the message of the cause.
func (e *LocalError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LocalError) Unwrap() error { return e.err }

// Is implements the kind of the error for errors.Is.
func (*LocalError) Is(kind error) bool { return kind == failure.Unreachable }

// Local converts an error of the file system: to a *NotFoundError, or a *LocalError. ref names the
// place, and contains the path.
func Local(ref string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &NotFoundError{Ref: ref}
	}
	var p *os.PathError
	var kind *ownfile.KindError
	var beyond *ownfile.BeyondError
	switch { // ref contains the path
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &kind):
		err = &ownfile.KindError{Mode: kind.Mode}
	case errors.As(err, &beyond): // it contains the path
		return &LocalError{beyond}
	}
	if err != nil {
		return &LocalError{fmt.Errorf("reading %s: %w", ref, err)}
	}
	return nil
}

// Placed reports whether err names its place already, as the types of this package do.
func Placed(err error) bool {
	var named failure.Detailed
	return errors.As(err, &named) && named.Details().Reference != "" || errors.As(err, new(*LocalError)) || errors.As(err, new(*reference.Error))
}
