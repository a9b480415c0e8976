package failure_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
)

// newError is a type of error that nothing but this file knows.
type newError struct {
	kind    failure.Kind
	details failure.Details
	err     error
}

func (*newError) Error() string              { return "new.yaml:3: it is new" }
func (e *newError) Is(other error) bool      { return other == e.kind }
func (e *newError) Details() failure.Details { return e.details }
func (e *newError) Unwrap() error            { return e.err }

// manyError holds several, and says so itself.
type manyError []error

func (manyError) Error() string     { return "many" }
func (m manyError) Apart() []error  { return m }
func (m manyError) Unwrap() []error { return m }

// TestNewError: a type of error that says its kind, place and hint needs no more to have them
// shown.
func TestNewError(t *testing.T) {
	t.Parallel()
	place := failure.Position{File: "new.yaml", Line: 3}
	known := failure.Details{Message: "it is new", Position: place, Reference: "oci://r/x", Digest: "sha256:1", Flag: "--new"}
	fresh := &newError{kind: failure.NotPermitted, details: known}
	shown := known
	shown.Try = "--new"
	wrapped := shown
	wrapped.Message = "reading: new.yaml:3: it is new"
	inStep := shown
	inStep.Step = "Kind name"
	step := &newError{details: failure.Details{Position: failure.ParsePosition("k.yaml:7"), Step: "Kind name", Outer: true}, err: fresh}
	other := &newError{kind: failure.Unreachable, details: failure.Details{Try: "to reach it"}, err: fresh}
	another := shown
	another.Message, another.Position, another.Reference, another.Digest = "new.yaml:3: it is new", place, "oci://r/x", "sha256:1"
	for _, c := range []struct {
		name string
		err  error
		want []failure.Report
	}{
		{"alone", fresh, []failure.Report{{failure.NotPermitted, shown, "new.yaml:3"}}},
		{"wrapped: the text names the place", fmt.Errorf("reading: %w", fresh), []failure.Report{{failure.NotPermitted, wrapped, ""}}},
		{"of a function", step, []failure.Report{{failure.NotPermitted, inStep, "k.yaml:7: Kind name, new.yaml:3"}}},
		{"what helps against another kind is not offered", other, []failure.Report{{failure.NotPermitted, another, ""}}},
		{"several, each once", errors.Join(fresh, manyError{fresh, failure.NotFound}, fresh), []failure.Report{
			{failure.NotPermitted, shown, "new.yaml:3"},
			{failure.NotFound, failure.Details{Message: "not found"}, ""},
		}},
		{"several causes of one", fmt.Errorf("%w and %w", failure.NotFound, failure.Usage), []failure.Report{
			{failure.Usage, failure.Details{Message: "not found and usage"}, ""},
		}},
	} {
		if got := failure.Reports(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestPosition: a position is written as it is read.
func TestPosition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Position{
		"":             {},
		"a.yaml":       {File: "a.yaml"},
		"a.yaml:3":     {File: "a.yaml", Line: 3},
		`C:\a.yaml:3`:  {File: `C:\a.yaml`, Line: 3},
		"dir/a:b.yaml": {File: "dir/a:b.yaml"},
		"a\nb:3":       {File: "a\nb:3"},
	} {
		if got := failure.ParsePosition(text); got != want || got.String() != text {
			t.Errorf("%q: got %+v, which is %q", text, got, got)
		}
	}
}
