package cachedir

// What the errors of this package mean to the user, for package failure.

import (
	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*NotCacheError) Is(kind error) bool { return kind == failure.Usage }

// Details implements failure.Detailed.
func (e *NotCacheError) Details() failure.Details { return failure.Details{Try: OwnDirectory} }

// Is implements the kind of the error for errors.Is.
func (*ForeignError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *ForeignError) Details() failure.Details { return failure.Details{Try: OwnDirectory} }

// OwnDirectory is what helps where the cache cannot be used.
const OwnDirectory = "KRMCAT_CACHE_DIR=DIR, a directory of your own"
