package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/reference"
)

// The Ref of every error is the Display of a Locator, without the query of a URL.

// BlobError reports that a reference names a blob of a registry or a layout by its storage path.
// Policy rules for the repository or layout would not apply to this name.
type BlobError struct {
	Ref string
	Of  reference.Locator // the repository, or the layout
}

// Error names the reference to use instead.
func (e *BlobError) Error() string {
	return fmt.Sprintf("%s is a blob of %s: refer to it by that name, so that the rules for it apply", e.Ref, e.Of.Display())
}

// NotFoundError reports that a place responded and does not have the content.
type NotFoundError struct {
	Ref    string
	Digest digest.Digest // the blob or manifest that is missing, "" for the reference itself
	Have   []string      // the last of the existing tags, if known
	Reason string        // "" for none
}

// Error names the reference, and the digest if it is of a part.
func (e *NotFoundError) Error() string {
	s := e.Ref + " was not found" + e.tried()
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

// UnreachableError reports that a request got no response, or an error status.
type UnreachableError struct {
	Ref    string
	Status int  // of the HTTP response, 0 for none
	Plain  bool // the request was sent without TLS
	Err    error
}

// Error distinguishes refused requests from missing responses.
func (e *UnreachableError) Error() string {
	switch e.Status {
	case 401:
		return fmt.Sprintf("%s: not authorised: the registry requires valid credentials (%v)", e.Ref, e.Err)
	case 403:
		return fmt.Sprintf("%s: not authorised: the credentials do not permit this (%v)", e.Ref, e.Err)
	}
	if e.Status >= 400 && e.Status < 500 && e.Status != 429 {
		return fmt.Sprintf("%s: the request was refused: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s could not be reached: %v", e.Ref, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// DigestError reports that content does not have the requested digest: it was modified or
// truncated.
type DigestError struct {
	Ref  string
	Want digest.Digest
	Got  digest.Digest // "" if the content was not read completely
	Err  error         // further details, or nil
}

// Error has both digests.
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

// TooLargeError reports content larger than the limit.
type TooLargeError struct {
	Ref   string
	What  string // "manifest", "file", …
	Size  int64  // bytes; 0 if only known to be more than Limit
	Limit int64  // bytes
}

// Error has the limit, and the size if it is known.
func (e *TooLargeError) Error() string {
	if e.Size > e.Limit {
		return fmt.Sprintf("%s: the %s has %d bytes, at most %d are read", e.Ref, e.What, e.Size, e.Limit)
	}
	return fmt.Sprintf("%s: the %s is larger than the %d bytes that are read", e.Ref, e.What, e.Limit)
}

// TooManyError reports that a place lists more entries than the limit, so that krmcat cannot know
// whether the wanted one is among the rest.
type TooManyError struct {
	Ref    string
	Digest digest.Digest // of the manifest with these entries, "" for all of them
	What   string        // "attachments", "referrers", …
	Limit  int
}

// Error has the limit.
func (e *TooManyError) Error() string {
	s := fmt.Sprintf("%s: there are more than the %d %s that are read", e.Ref, e.Limit, e.What)
	if e.Digest != "" && !strings.Contains(e.Ref, e.Digest.String()) {
		s += " of " + e.Digest.String()
	}
	return s
}

// ConflictError reports that others write to a tag at the same time, and that an attachment was
// lost after each attempt.
type ConflictError struct {
	Ref string
	Tag string // of the attachment, or the fallback tag of its subject
}

// Error names the tag.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: others change tag %s at the same time, and the attachment was lost", e.Ref, e.Tag)
}

// ManifestError reports a malformed manifest or index.
type ManifestError struct {
	Ref    string
	Digest digest.Digest // "" for the index.json of a layout
	Err    error
}

// Error names the manifest by digest.
func (e *ManifestError) Error() string {
	if e.Digest == "" || strings.Contains(e.Ref, e.Digest.String()) {
		return fmt.Sprintf("%s: malformed manifest: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s: malformed manifest %s: %v", e.Ref, e.Digest, e.Err)
}

// Unwrap returns the cause.
func (e *ManifestError) Unwrap() error { return e.Err }

// RoleError reports an artifact of another role than the wanted one.
type RoleError struct {
	Ref    string
	Digest digest.Digest
	Want   mediatypes.Role // RoleUnknown: any known role
	Got    mediatypes.Role // RoleUnknown: no known role
	Type   string          // artifact type, or media type of the first layer or of the config, for the message
}

// Error has both roles.
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

// PlatformError reports that an index has no manifest for a platform.
type PlatformError struct {
	Ref    string
	Digest digest.Digest
	Want   string   // os/arch
	Have   []string // os/arch, in the order of the index
	Silent int      // number of entries without a platform
}

// Error lists the platforms of the index.
func (e *PlatformError) Error() string {
	have := strings.Join(e.Have, ", ")
	switch {
	case have == "" && e.Silent > 0:
		have = fmt.Sprintf("none: the %d entries of its index have no platform", e.Silent)
	case have == "":
		have = "none"
	}
	return fmt.Sprintf("%s (%s): nothing for platform %s; it has: %s", e.Ref, e.Digest, e.Want, have)
}

// LoginFileError reports that Docker's config.json or podman's auth.json cannot be read.
type LoginFileError struct {
	Path string
	Err  error // contains nothing of an entry
}

// Error has the path and the cause.
func (e *LoginFileError) Error() string { return e.Path + ": " + e.what() }

func (e *LoginFileError) what() string {
	cause := e.Err.Error()
	var p *fs.PathError // Path names the file
	switch {
	case errors.Is(e.Err, bounded.ErrMore):
		return "the file of logins is larger than what is read"
	case errors.As(e.Err, &p):
		cause = p.Err.Error()
	}
	return "the file of logins cannot be read: " + reference.Clean(cause)
}

// Unwrap returns the cause.
func (e *LoginFileError) Unwrap() error { return e.Err }

// TitleError reports that the name of a file of an artifact or Bundle is not safe to write to disk.
type TitleError struct {
	Ref    string
	Title  string
	Reason string
}

// Error has the name and the reason.
func (e *TitleError) Error() string {
	return fmt.Sprintf("%s: file name %q: %s", e.Ref, e.Title, e.Reason)
}
