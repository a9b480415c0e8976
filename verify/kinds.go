package verify

// What the errors of this package mean to the user, for package failure.

import (
	"github.com/krmcat/krmcat/internal/failure"
)

// Is implements the kind of the error for errors.Is.
func (*UntrustedError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *UntrustedError) Details() failure.Details {
	d := failure.Details{Reference: e.Ref, Digest: e.Digest.String(), Flag: e.Flag}
	if e.Flag == "" && e.Write != "" {
		d.Try = "write " + e.Write
	}
	return d
}
