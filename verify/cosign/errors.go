package cosign

import (
	"errors"
	"fmt"
)

// ErrPassword says that a password is not that of a key.
var ErrPassword = errors.New("the password is not that of the key")

// publicKeyType is the type of a public key in PEM.
const publicKeyType = "PUBLIC KEY"

// KeyTypeError says that a private key is in PEM, and not as cosign keeps its keys.
type KeyTypeError struct {
	Type      string // of the PEM block: "ENCRYPTED PRIVATE KEY", …
	Encrypted bool   // its password has to be taken off before cosign imports it
}

// Public tells that it is a public key.
func (e *KeyTypeError) Public() bool { return e.Type == publicKeyType }

func (e *KeyTypeError) Error() string {
	if e.Public() {
		return "it is a public key, give the private one"
	}
	return fmt.Sprintf("it holds %s, want a private key that cosign encrypted", e.Type)
}

// ErrPrivateKey says that a private key is where a public one belongs.
var ErrPrivateKey = errors.New("it is a private key, give the public one")

// RefusedError says that a service answered, and that the answer was no.
type RefusedError struct {
	Service string // "certificate authority", "transparency log", "timestamp authority"
	URL     string // as it was given
	Status  int    // of the HTTP answer
	Said    string // by the service: one line, bounded; may be empty
}

func (e *RefusedError) Error() string {
	s := fmt.Sprintf("the %s %s refused (status %d)", e.Service, e.URL, e.Status)
	if e.Said != "" {
		s += ": " + e.Said
	}
	return s
}
