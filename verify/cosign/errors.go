package cosign

import (
	"errors"
	"fmt"
)

// DemandError says that nothing can be judged by a demand. The words for its fields are those of a
// policy.
type DemandError struct {
	Field string `json:"field"` // keys[1], trustedRoot
	Msg   string `json:"message"`
	// Waiver is the field that makes do without what is wrong where it is true, "" for none.
	Waiver string `json:"waiver,omitempty"`
	Err    error  `json:"-"` // the cause, nil where Msg says it all
}

func (e *DemandError) Error() string { return e.Field + ": " + e.Text(e.Waiver+": true") }

// Text is what is wrong, without the field. waiver is how the caller's users write Waiver.
func (e *DemandError) Text(waiver string) string {
	if e.Waiver == "" {
		return e.Msg
	}
	return e.Msg + ", or say " + waiver
}

// Unwrap returns the cause.
func (e *DemandError) Unwrap() error { return e.Err }

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
