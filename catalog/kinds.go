package catalog

import "github.com/krmcat/krmcat/internal/failure"

// Is implements the kind of the error for errors.Is.
func (*NotFoundError) Is(kind error) bool { return kind == failure.NotFound }

// Is implements the kind of the error for errors.Is: which function is wanted is not found.
func (*AmbiguousError) Is(kind error) bool { return kind == failure.NotFound }
