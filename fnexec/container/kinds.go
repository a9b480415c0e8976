package container

// What the errors of this package mean to the user, for package failure.

import (
	"errors"
	"slices"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/install"
	"github.com/krmcat/krmcat/sandbox"
)

// Is implements the kind of the error for errors.Is.
func (e *NoEngineError) Is(kind error) bool {
	return e.Unreachable() && kind == failure.Unreachable || !e.Unreachable() && kind == failure.NotFound
}

// Details implements failure.Detailed.
func (e *NoEngineError) Details() failure.Details { return failure.Details{Try: e.try()} }

// try is what gets an engine to run, or one installed.
func (e *NoEngineError) try() string {
	if e.Unreachable() {
		return e.Runtime + " version to see why, or --runtime " + Auto
	}
	var not *sandbox.NamespaceError
	packages := e.Packages()
	switch {
	case !errors.As(e, &not):
		if len(packages) > 0 {
			return install.Command(packages[0])
		}
		return ""
	case !slices.ContainsFunc(e.Tried, func(l Tried) bool { return l.Name == Docker }):
		return not.Try() + ", or --runtime " + Docker
	case slices.Contains(packages, install.Docker):
		return not.Try() + ", or " + install.Command(install.Docker)
	}
	return not.Try()
}
