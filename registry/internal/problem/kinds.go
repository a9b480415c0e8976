package problem

// What the errors mean to the user, for package failure.

import (
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/near"
	"github.com/krmcat/krmcat/registry/reference"
)

// Is implements the kind of the error for errors.Is.
func (*BlobError) Is(kind error) bool { return kind == failure.NotPermitted }

// Details implements failure.Detailed.
func (e *BlobError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Try: failure.ShellWord(e.Of.String())}
}

// Is implements the kind of the error for errors.Is.
func (*NotFoundError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *NotFoundError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Digest.String()}
}

// Is implements the kind of the error for errors.Is.
func (*UnreachableError) Is(kind error) bool { return kind == failure.Unreachable }

// Details implements failure.Detailed.
func (e *UnreachableError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Try: e.try()}
}

// Is implements the kind of the error for errors.Is.
func (*DigestError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *DigestError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Want.String()}
}

// Is implements the kind of the error for errors.Is.
func (*TooLargeError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *TooLargeError) Details() failure.Details { return failure.Details{Reference: e.Ref} }

// Is implements the kind of the error for errors.Is.
func (*TooManyError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *TooManyError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Digest.String()}
}

// Is implements the kind of the error for errors.Is.
func (*ConflictError) Is(kind error) bool { return kind == failure.Unreachable }

// Details implements failure.Detailed.
func (e *ConflictError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Try: "run the same command again"}
}

// Is implements the kind of the error for errors.Is.
func (*ManifestError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *ManifestError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Digest.String()}
}

// Is implements the kind of the error for errors.Is.
func (*RoleError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *RoleError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Digest.String(), Try: e.try()}
}

// Is implements the kind of the error for errors.Is.
func (*PlatformError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (e *PlatformError) Details() failure.Details {
	return failure.Details{Reference: e.Ref, Digest: e.Digest.String(), Try: e.try()}
}

// Is implements the kind of the error for errors.Is: it is a file of the user's own.
func (e *LoginFileError) Is(kind error) bool {
	if errors.Is(e.Err, bounded.ErrMore) {
		return kind == failure.Untrusted
	}
	return kind == failure.Usage
}

// Details implements failure.Detailed.
func (e *LoginFileError) Details() failure.Details {
	return failure.Details{Message: e.what(), Position: failure.Position{File: e.Path}, Try: "correct the file, or move it away and use krmcat login HOST"}
}

// Is implements the kind of the error for errors.Is.
func (*TitleError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *TitleError) Details() failure.Details { return failure.Details{Reference: e.Ref} }

// tried says what was looked for where a reference has neither tag nor digest.
func (e *NotFoundError) tried() string {
	l, err := reference.Parse(e.Ref)
	if err != nil || l.Scheme != reference.SchemeOCI || l.Tag != "" || l.Digest != "" || e.Digest != "" || e.Reason != "" {
		return ""
	}
	return ": it names no tag, so latest was tried"
}

// try is a login, or TLS where none was spoken.
func (e *UnreachableError) try() string {
	l, err := reference.Parse(e.Ref)
	if err != nil || l.Scheme != reference.SchemeOCI {
		return ""
	}
	host, _, _ := strings.Cut(l.Name, "/")
	switch {
	case e.Status == 401 || e.Status == 403:
		return "krmcat login " + failure.ShellWord(host)
	case errors.Is(e.Err, http.ErrSchemeMismatch):
		return "--plain-http"
	case errors.As(e.Err, new(x509.UnknownAuthorityError)):
		return "--ca-file FILE"
	case e.Status == 400 && e.Plain && near.Loopback(near.HostOnly(host)):
		// A registry on loopback is spoken to without TLS, which one with TLS answers so.
		return "--ca-file FILE or --insecure"
	case e.Status == 400 && e.Plain:
		return "leave out --plain-http"
	}
	return ""
}

// try is how an artifact that does not say what it is gets a type.
func (e *RoleError) try() string {
	if e.Got != mediatypes.RoleUnknown || e.Want.Artifact() == "" {
		return ""
	}
	file := "FILE"
	if e.Want == mediatypes.RoleExec {
		file = "--platform OS/ARCH=FILE"
	}
	return "krmcat push REF " + file + ", or oras push --artifact-type " + e.Want.Artifact() + " REF FILE"
}

// try is how an index that was made of programs without their platforms gets them.
func (e *PlatformError) try() string {
	if e.Silent == 0 || len(e.Have) > 0 {
		return ""
	}
	return "krmcat push REF --platform OS/ARCH=FILE --platform OS/ARCH=FILE, or oras push --artifact-platform OS/ARCH REF FILE before oras manifest index create"
}
