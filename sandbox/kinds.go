package sandbox

// What the errors of this package mean to the user, for package failure.

import (
	"errors"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/install"
)

// Is implements the kind of the error for errors.Is.
func (*DeniedError) Is(kind error) bool { return kind == failure.NotPermitted }

// Details implements failure.Detailed.
func (e *DeniedError) Details() failure.Details { return failure.Details{Flag: e.flags()} }

// Is implements the kind of the error for errors.Is.
func (*UnconfinedError) Is(kind error) bool { return kind == failure.NotPermitted }

// Details implements failure.Detailed.
func (e *UnconfinedError) Details() failure.Details { return failure.Details{Try: e.try()} }

// Is implements the kind of the error for errors.Is.
func (*MountError) Is(kind error) bool { return kind == failure.NotPermitted }

// Is implements the kind of the error for errors.Is.
func (*ExchangedError) Is(kind error) bool { return kind == failure.Untrusted }

// Is implements the kind of the error for errors.Is.
func (*NotFoundError) Is(kind error) bool { return kind == failure.NotFound }

// Is implements the kind of the error for errors.Is.
func (*UserError) Is(kind error) bool { return kind == failure.NotFound }

// Is implements the kind of the error for errors.Is.
func (*OtherUserError) Is(kind error) bool { return kind == failure.NotFound }

// flags permit all that was refused, "" where none do.
func (e *DeniedError) flags() string {
	var flags []string
	for _, r := range e.Refusals {
		if r.Flag == "" {
			return ""
		}
		if !slices.Contains(flags, r.Flag) { // what two mounts need
			flags = append(flags, r.Flag)
		}
	}
	return strings.Join(flags, " ")
}

// Try is what lets this user make user namespaces.
func (e *NamespaceError) Try() string {
	switch {
	case len(e.Lacks) > 0:
		return "run krmcat as another user than root, or with " + strings.Join(e.Lacks, ", ")
	case e.Setting == "":
		return "allow user namespaces: docs/sandbox.md#where-it-runs"
	}
	return install.AsRoot("sysctl -w " + e.Setting + "=" + e.Enough)
}

func (e *UnconfinedError) try() string {
	const auto = "--confine " + string(ConfineAuto)
	for _, m := range e.Missing {
		var not *NamespaceError
		if errors.As(m.Err, &not) {
			return not.Try() + ", or " + auto
		}
	}
	for _, m := range e.Missing {
		if m.Engine == Bubblewrap && errors.As(m.Err, new(*NotFoundError)) {
			return install.Command("bubblewrap")
		}
	}
	return auto
}
