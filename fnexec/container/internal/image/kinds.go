package image

// What the errors of this package mean to the user, for package failure.

import (
	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*Error) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *Error) Details() failure.Details {
	return failure.Details{Reference: e.Image, Digest: e.Layer.String()}
}

// Is implements the kind of the error for errors.Is.
func (*LimitError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *LimitError) Details() failure.Details {
	return failure.Details{Reference: e.Image, Digest: e.Layer.String()}
}

// Is implements the kind of the error for errors.Is.
func (*ChangedError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *ChangedError) Details() failure.Details {
	return failure.Details{Reference: e.Image, Try: pullIfNotPresent}
}

// Is implements the kind of the error for errors.Is.
func (*NotComparedError) Is(kind error) bool { return kind == failure.Usage }

// Details implements failure.Detailed.
func (e *NotComparedError) Details() failure.Details {
	return failure.Details{Reference: e.Image, Try: pullIfNotPresent + ", or --verify-cache=false"}
}

// Is implements the kind of the error for errors.Is.
func (*NotHereError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *NotHereError) Details() failure.Details {
	return failure.Details{Reference: e.Image, Try: pullIfNotPresent}
}

// Is implements the kind of the error for errors.Is.
func (*UnfitError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *UnfitError) Details() failure.Details { return failure.Details{Reference: e.Image} }

// Is implements the kind of the error for errors.Is.
func (*NoCacheError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *NoCacheError) Details() failure.Details { return failure.Details{Try: cachedir.OwnDirectory} }

// pullIfNotPresent is the flag that has an image fetched.
const pullIfNotPresent = "--image-pull-policy IfNotPresent"
