package registry

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
)

// The schemes of a Locator.
const (
	SchemeOCI    = "oci"
	SchemeLayout = "oci-layout"
	SchemeHTTPS  = "https"
	SchemeFile   = "file"
)

// Locator is a parsed place: oci://host/repo:tag@sha256:…, oci-layout://dir:tag,
// https://…, ./file.
type Locator struct {
	Scheme string        // one of the Scheme constants, or that of a further Source
	Name   string        // host/repo, directory, URL without the digest, or file path
	Tag    string        // empty for none
	Digest digest.Digest // empty unless pinned
}

// Parse reads a place as a person writes it. The error is a *ReferenceError.
func Parse(s string) (Locator, error) { panic("unwritten") }

// String writes the locator so that Parse reads it back.
func (l Locator) String() string { panic("unwritten") }

// Local reports whether the place is on this machine's disk.
func (l Locator) Local() bool { return l.Scheme == SchemeFile || l.Scheme == SchemeLayout }

// At makes a relative local place absolute against dir; others are returned as
// they are.
func (l Locator) At(dir string) Locator { panic("unwritten") }

// Dir is the directory that paths written in the content of a local place are
// relative to: the one that holds the file, or that holds the layout directory.
// It is "" for a place that is not local.
func (l Locator) Dir() string { panic("unwritten") }

// Want says what the caller expects to find at a place.
type Want struct {
	Role     mediatypes.Role // RoleUnknown: anything krmcat knows
	Platform string          // "os/arch": which manifest of an index to use; "" for this machine's
}

// Artifact is one pinned root: what a reference resolved to, once. Its content is
// read lazily, by digest.
type Artifact struct {
	From        Locator              // as asked
	Root        ocispec.Descriptor   // what the reference resolved to; for https and files the blob itself
	Role        mediatypes.Role      // what it is
	Annotations map[string]string    // of the manifest
	Files       []ocispec.Descriptor // the content, in order; the title annotation names each

	store fetcher
}

type fetcher interface {
	read(ctx context.Context, d ocispec.Descriptor) ([]byte, error)
}

// Pinned is the reference with its digest: what to write to get these bytes again.
func (a Artifact) Pinned() Locator { panic("unwritten") }

// Read returns one of the artifact's blobs, checked against its digest.
func (a Artifact) Read(ctx context.Context, d ocispec.Descriptor) ([]byte, error) { panic("unwritten") }

// Client resolves, reads and pushes.
type Client struct{}

// Resolve finds what is at a place now. It is the only place where a tag is
// turned into a digest.
func (c *Client) Resolve(ctx context.Context, l Locator, w Want) (Artifact, error) {
	panic("unwritten")
}

// Literal wraps bytes that are already at hand (a script written inline) as an
// artifact, so that they pass through the same verification as everything else.
func Literal(from Locator, role mediatypes.Role, title string, data []byte) Artifact {
	panic("unwritten")
}
