package cosign

import (
	"errors"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/registry"
)

// Failure is an error on its way from a judge: its text, and all by which others tell it apart.
type Failure struct {
	Text        string        `json:"text"`
	Field       *string       `json:"field,omitempty"` // of a *yamldoc.Error
	Message     string        `json:"message,omitempty"`
	Content     bool          `json:"content,omitempty"` // failure.Untrusted
	Reach       bool          `json:"reach,omitempty"`   // failure.NotPermitted
	PrivateKey  bool          `json:"privateKey,omitempty"`
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

// Fail makes a Failure of an error.
func Fail(err error) *Failure {
	f := &Failure{
		Text:       err.Error(),
		Content:    errors.Is(err, failure.Untrusted),
		Reach:      errors.Is(err, failure.NotPermitted),
		PrivateKey: errors.Is(err, ErrPrivateKey),
		Password:   errors.Is(err, ErrPassword),
	}
	errors.As(err, &f.KeyType)
	errors.As(err, &f.Refused)
	var field *yamldoc.Error
	if errors.As(err, &field) {
		f.Field, f.Message = &field.Field, field.Msg
	}
	var away *registry.UnreachableError
	if errors.As(err, &away) {
		f.Unreachable = &unreachable{away.Ref, away.Status, away.Err.Error()}
	}
	return f
}

// err is the error again. by is what the transport said, where it was asked.
func (f *Failure) err(by error) error {
	var causes []error
	for _, c := range []struct {
		is  bool
		err error
	}{
		{f.Content, failure.Untrusted}, {f.Reach, failure.NotPermitted},
		{f.PrivateKey, ErrPrivateKey}, {f.Password, ErrPassword},
	} {
		if c.is {
			causes = append(causes, c.err)
		}
	}
	if f.KeyType != nil {
		causes = append(causes, f.KeyType)
	}
	if f.Field != nil {
		return &yamldoc.Error{Field: *f.Field, Msg: f.Message, Err: errors.Join(causes...)}
	}
	if f.Refused != nil {
		causes = append(causes, f.Refused)
	}
	if u := f.Unreachable; u != nil {
		causes = append(causes, &registry.UnreachableError{Ref: u.Ref, Status: u.Status, Err: &failed{u.Text, []error{by}}})
	}
	return &failed{f.Text, causes}
}

// failed is an error with the text that it has elsewhere.
type failed struct {
	text   string
	causes []error
}

func (e *failed) Error() string { return e.text }

// Unwrap returns the causes.
func (e *failed) Unwrap() []error { return e.causes }
