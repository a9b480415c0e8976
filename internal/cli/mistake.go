package cli

import (
	"cmp"
	"errors"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// mistakeError says that a file which the user gave cannot be read, or is not what it should be: a
// policy, a key, a token, certificates.
type mistakeError struct{ err error }

func (e *mistakeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *mistakeError) Unwrap() error { return e.err }

// mistake makes an error of a file that the user gave a *mistakeError; nil stays nil.
func mistake(err error) error {
	if err == nil {
		return nil
	}
	return &mistakeError{err}
}

// mistaken matches what is for the user to mend in their own files. Whatever else an error is, such
// as not found or more than is read, comes first.
func mistaken(err error) bool {
	return is[*mistakeError](err) || is[*verify.PolicyError](err) || is[*configError](err)
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

// otherKey matches a public key that was given for a private one, and the other way round.
func otherKey(err error) bool {
	var key *cosign.KeyTypeError
	return errors.As(err, &key) && key.Public() || errors.Is(err, cosign.ErrPrivateKey)
}

// keyTypeHint makes a key of cosign's: cosign imports no key that is encrypted.
func keyTypeHint(e *cosign.KeyTypeError) string {
	switch {
	case e.Type == "OPENSSH PRIVATE KEY":
		return "krmcat keygen" // not all of OpenSSH's can be imported
	case e.Encrypted:
		return "openssl pkey -in FILE -out plain.pem, and cosign import-key-pair --key plain.pem"
	}
	return "cosign import-key-pair --key FILE"
}
