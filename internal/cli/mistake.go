package cli

import (
	"cmp"
	"errors"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/verify"
)

// mistakeError says that a file which the user gave cannot be read, or is not what it should be: a
// policy, a key, a token, certificates.
type mistakeError struct{ err error }

func (e *mistakeError) Error() string { return e.err.Error() }

// Is implements the kind of the error for errors.Is: whatever else it is, such as not found, comes first.
func (e *mistakeError) Is(kind error) bool {
	return kind == failure.Usage && failure.Of(e.err) == failure.Unexpected
}

// Unwrap returns the cause.
func (e *mistakeError) Unwrap() error { return e.err }

// mistake makes an error of a file that the user gave a *mistakeError; nil stays nil.
func mistake(err error) error {
	if err == nil {
		return nil
	}
	return &mistakeError{err}
}

// notTheirs marks what is wrong with a policy that is not the user's to mend: to them it is not
// known what is trusted.
func notTheirs(err error) error {
	var wrong *verify.PolicyError
	if errors.As(err, &wrong) {
		theirs := *wrong
		theirs.Err = failure.Untrusted.Mark(cmp.Or(wrong.Err, errMachinePolicy))
		return &theirs
	}
	return err
}

var errMachinePolicy = errors.New("the policy of this machine cannot be read")
