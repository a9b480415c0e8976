package registry

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/reference"
)

// The Ref of every error is a Locator's Display: what a query says is not shown.

// BlobError says that a place is a blob of a registry or a layout, by the way in which these
// keep them: it is the content of another place, under a name that no rule for that is for.
type BlobError struct {
	Ref string
	Of  reference.Locator // the repository, or the layout
}

func (e *BlobError) Error() string {
	return fmt.Sprintf("%s is a blob of %s, and is read by that name only: rules for it are asked there", e.Ref, e.Of.Display())
}

// NotFoundError says that a place answered, and has nothing there.
type NotFoundError struct {
	Ref    string
	Digest digest.Digest // the blob or manifest that is missing, "" for the reference itself
	Have   []string      // what there is instead, where known: tags
	Reason string        // why, where that is not plain; "" for none
}

func (e *NotFoundError) Error() string {
	s := e.Ref + " was not found"
	if e.Digest != "" && !strings.Contains(e.Ref, e.Digest.String()) {
		s = fmt.Sprintf("%s: %s was not found there", e.Ref, e.Digest)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if len(e.Have) > 0 {
		s += " (there is: " + strings.Join(e.Have, ", ") + ")"
	}
	return s
}

// UnreachableError says that a place could not be asked, or would not answer.
type UnreachableError struct {
	Ref    string
	Status int // of the HTTP answer, 0 for none
	Err    error
}

func (e *UnreachableError) Error() string {
	switch e.Status {
	case 401:
		return fmt.Sprintf("%s: not authorised: the registry wants a login it accepts (%v)", e.Ref, e.Err)
	case 403:
		return fmt.Sprintf("%s: not authorised: this login may not do that (%v)", e.Ref, e.Err)
	}
	if e.Status >= 400 && e.Status < 500 && e.Status != 429 {
		return fmt.Sprintf("%s: the request was refused: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s could not be reached: %v", e.Ref, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// DigestError says that bytes are not the ones that were asked for: tampered with, cut
// short, or changed since.
type DigestError struct {
	Ref  string
	Want digest.Digest
	Got  digest.Digest // "" where the bytes never came in full
	Err  error         // what was seen, nil where the digests say it all
}

func (e *DigestError) Error() string {
	s := fmt.Sprintf("%s: content does not match its digest: wanted %s", e.Ref, e.Want)
	if e.Got != "" {
		s += ", got " + e.Got.String()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *DigestError) Unwrap() error { return e.Err }

// TooLargeError says that content is larger than krmcat reads.
type TooLargeError struct {
	Ref   string
	What  string // "manifest", "file", …
	Size  int64  // bytes; 0 where only known to be more than Limit
	Limit int64  // bytes
}

func (e *TooLargeError) Error() string {
	if e.Size > e.Limit {
		return fmt.Sprintf("%s: the %s has %d bytes, at most %d are read", e.Ref, e.What, e.Size, e.Limit)
	}
	return fmt.Sprintf("%s: the %s is larger than the %d bytes that are read", e.Ref, e.What, e.Limit)
}

// TooManyError says that a place lists more than krmcat reads: what is looked for may stand
// among the rest.
type TooManyError struct {
	Ref    string
	Digest digest.Digest // of the manifest it is about, "" for all of them
	What   string        // "attachments", "referrers", …
	Limit  int
}

func (e *TooManyError) Error() string {
	s := fmt.Sprintf("%s: there are more than the %d %s that are read", e.Ref, e.Limit, e.What)
	if e.Digest != "" && !strings.Contains(e.Ref, e.Digest.String()) {
		s += " of " + e.Digest.String()
	}
	return s
}

// ConflictError says that others wrote to a tag at the same time, and that what was attached
// there is gone each time it is looked for.
type ConflictError struct {
	Ref string
	Tag string // of the attachment, or the fallback tag of its subject
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: others change tag %s at the same time, and what was attached there is gone: try again when they are done", e.Ref, e.Tag)
}

// ManifestError says that a manifest or an index is not one.
type ManifestError struct {
	Ref    string
	Digest digest.Digest // "" where the index of a layout is meant
	Err    error
}

func (e *ManifestError) Error() string {
	if e.Digest == "" || strings.Contains(e.Ref, e.Digest.String()) {
		return fmt.Sprintf("%s: malformed manifest: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s: malformed manifest %s: %v", e.Ref, e.Digest, e.Err)
}

// Unwrap returns the cause.
func (e *ManifestError) Unwrap() error { return e.Err }

// RoleError says that a place holds something else than what is wanted there.
type RoleError struct {
	Ref    string
	Digest digest.Digest
	Want   mediatypes.Role // RoleUnknown: anything krmcat knows
	Got    mediatypes.Role // RoleUnknown: nothing krmcat knows
	Type   string          // its artifact type or first layer's media type, for people
}

func (e *RoleError) Error() string {
	want, got := string(e.Want), string(e.Got)
	if want == "" {
		want = "something krmcat knows"
	}
	if got == "" {
		got = "something else"
	}
	s := fmt.Sprintf("%s (%s): wanted %s, it is %s", e.Ref, e.Digest, want, got)
	if e.Type != "" {
		s += fmt.Sprintf(" (%q)", e.Type)
	}
	return s
}

// PlatformError says that an index has nothing for a platform.
type PlatformError struct {
	Ref    string
	Digest digest.Digest
	Want   string   // os/arch
	Have   []string // os/arch, in the order of the index
	Silent int      // entries of the index that name no platform
}

func (e *PlatformError) Error() string {
	have := strings.Join(e.Have, ", ")
	switch {
	case have == "" && e.Silent > 0:
		have = fmt.Sprintf("none: its index does not say for which platform the %d programs are", e.Silent)
	case have == "":
		have = "none"
	}
	return fmt.Sprintf("%s (%s): nothing for platform %s; it has: %s", e.Ref, e.Digest, e.Want, have)
}

// TitleError says that a file of an artifact, or of a bundle, has a name under which it
// is not written to disk.
type TitleError struct {
	Ref    string
	Title  string
	Reason string
}

func (e *TitleError) Error() string {
	return fmt.Sprintf("%s: file name %q: %s", e.Ref, e.Title, e.Reason)
}
