package cosign

import (
	"errors"
	"fmt"
)

// DemandError reports an invalid Demand. Its fields have the names that they have in a policy.
type DemandError struct {
	Field string `json:"field"` // keys[1], trustedRoot
	Msg   string `json:"message"`
	// Waiver is the field that, if true, disables the failed check, "" for none.
	Waiver string `json:"waiver,omitempty"`
	Err    error  `json:"-"` // the cause, or nil
}

// Error has the field and the message.
func (e *DemandError) Error() string { return e.Field + ": " + e.Text(e.Waiver+": true") }

// Text returns the message without the field. waiver is the spelling of Waiver for the caller's
// users.
func (e *DemandError) Text(waiver string) string {
	if e.Waiver == "" {
		return e.Msg
	}
	return e.Msg + ", or say " + waiver
}

// Unwrap returns the cause.
func (e *DemandError) Unwrap() error { return e.Err }

// ErrPassword means that a password does not decrypt a key.
var ErrPassword = errors.New("the password is not that of the key")

// publicKeyType is the PEM type of a public key.
const publicKeyType = "PUBLIC KEY"

// KeyTypeError reports a private key in PEM that is not in cosign's format.
type KeyTypeError struct {
	Type      string // of the PEM block: "ENCRYPTED PRIVATE KEY", …
	Encrypted bool   // it must be decrypted before cosign can import it
}

// Public reports whether it is a public key.
func (e *KeyTypeError) Public() bool { return e.Type == publicKeyType }

// Error has the type and what is expected.
func (e *KeyTypeError) Error() string {
	if e.Public() {
		return "it is a public key, give the private one"
	}
	return fmt.Sprintf("it contains %s, want a private key that cosign encrypted", e.Type)
}

// RefusedError reports that a service responded with a refusal.
type RefusedError struct {
	Service string // "certificate authority", "transparency log", "timestamp authority"
	URL     string // as given
	Status  int    // of the HTTP response
	Said    string // message of the service: one line of limited length; may be ""
}

// Error has the service, its status and its message.
func (e *RefusedError) Error() string {
	s := fmt.Sprintf("the %s %s refused (status %d)", e.Service, e.URL, e.Status)
	if e.Said != "" {
		s += ": " + e.Said
	}
	return s
}
