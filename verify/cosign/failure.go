package cosign

import (
	"errors"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
)

// Failure is an error in a message: its text, and what callers use to distinguish errors.
type Failure struct {
	Text        string        `json:"text"`
	Kind        failure.Kind  `json:"kind"`
	Demand      *DemandError  `json:"demand,omitempty"`
	Password    bool          `json:"password,omitempty"`
	KeyType     *KeyTypeError `json:"keyType,omitempty"`
	Refused     *RefusedError `json:"refused,omitempty"`
	Unreachable *unreachable  `json:"unreachable,omitempty"`
}

// unreachable is a *registry.UnreachableError.
type unreachable struct {
	Ref    string `json:"ref"`
	Status int    `json:"status,omitempty"`
	Text   string `json:"text"`
}

// Fail converts an error to a Failure.
func Fail(err error) *Failure {
	f := &Failure{
		Text:     err.Error(),
		Kind:     failure.Of(err),
		Password: errors.Is(err, ErrPassword),
	}
	errors.As(err, &f.KeyType)
	errors.As(err, &f.Refused)
	errors.As(err, &f.Demand)
	var away *registry.UnreachableError
	if errors.As(err, &away) {
		f.Unreachable = &unreachable{away.Ref, away.Status, away.Err.Error()}
	}
	return f
}

// err converts it back to an error. by is the last error of the transport, or nil.
func (f *Failure) err(by error) error {
	causes := []error{f.Kind}
	if f.Password {
		causes = append(causes, ErrPassword)
	}
	if f.KeyType != nil {
		causes = append(causes, f.KeyType)
	}
	if f.Demand != nil {
		f.Demand.Err = errors.Join(causes...)
		return f.Demand
	}
	if f.Refused != nil {
		causes = append(causes, f.Refused)
	}
	if u := f.Unreachable; u != nil {
		causes = append(causes, &registry.UnreachableError{Ref: u.Ref, Status: u.Status, Err: &failed{u.Text, []error{by}}})
	}
	return &failed{f.Text, causes}
}

// failed is an error with the text of another process.
type failed struct {
	text   string
	causes []error
}

// Error returns the text of the other process.
func (e *failed) Error() string { return e.text }

// Unwrap returns the causes.
func (e *failed) Unwrap() []error { return e.causes }
