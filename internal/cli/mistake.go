package cli

import (
	"cmp"
	"errors"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/verify"
)

// mistake marks an error in a file that the user gave, such as a policy, a key, a token or
// certificates, as one of usage, unless it has a kind of its own, such as not found.
func mistake(err error) error {
	if failure.Of(err) != failure.Unexpected {
		return err
	}
	return failure.Usage.Mark(err)
}

// notTheirs marks errors in the policy of the machine as untrusted. The user cannot mend it, and it
// is not known what is trusted.
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
