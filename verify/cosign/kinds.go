package cosign

// What the errors of this package mean to the user, for package failure.

import (
	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*RefusedError) Is(kind error) bool { return kind == failure.Unreachable }

// Is implements the kind of the error for errors.Is.
func (*KeyTypeError) Is(kind error) bool { return kind == failure.Usage }

// Details implements failure.Detailed.
func (e *KeyTypeError) Details() failure.Details { return failure.Details{Try: e.try()} }

// try makes a key of cosign's, which imports none that is encrypted.
func (e *KeyTypeError) try() string {
	switch {
	case e.Public():
		return ""
	case e.Type == "OPENSSH PRIVATE KEY":
		return "krmcat keygen" // not all of OpenSSH's can be imported
	case e.Encrypted:
		return "openssl pkey -in FILE -out plain.pem && cosign import-key-pair --key plain.pem"
	}
	return "cosign import-key-pair --key FILE"
}
