package ownfile

// The kinds of this package's errors, for package failure.

import (
	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*KindError) Is(kind error) bool { return kind == failure.NotFound }

// Is implements the kind of the error for errors.Is.
func (*BeyondError) Is(kind error) bool { return kind == failure.NotPermitted }

// Is implements the kind of the error for errors.Is.
func (*InTheWayError) Is(kind error) bool { return kind == failure.NotPermitted }

// Is implements the kind of the error for errors.Is.
func (*ForeignError) Is(kind error) bool { return kind == failure.Untrusted }
