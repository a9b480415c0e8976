package registry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/reference"
)

// Want says what the caller expects to find at a place.
type Want struct {
	Role     mediatypes.Role // RoleUnknown: anything krmcat knows
	Platform string          // "os/arch": which manifest of an index to use; "" for this machine's
	// Root asks for what the reference resolves to, and no further: of an index no manifest
	// is chosen, and there are no Files. What is to be signed or verified may be anything.
	Root bool
	// Below is the directory, absolute and without links, that a local place has to be in or
	// below wherever its links lead when it is opened; "" for none. What leads out of it is an
	// *ownfile.BeyondError.
	Below string
}

// Artifact is one pinned root: what a reference resolved to, once. Its content is
// read lazily, by digest.
type Artifact struct {
	From        reference.Locator    // as asked
	Root        ocispec.Descriptor   // what the reference resolved to; for https and files the blob itself
	Role        mediatypes.Role      // what it is
	Annotations map[string]string    // of the manifest
	Files       []ocispec.Descriptor // the content, in order; the title annotation names each
	Config      ocispec.Descriptor   // of a container image what says how to run it; zero otherwise
	Manifest    ocispec.Descriptor   // the manifest that lists Files: of an index the chosen one; zero for https and files
	Platforms   []string             // "os/arch" of every manifest of an index, in its order; nil where there is no index

	store fetcher
}

// fetcher reads blobs by digest. What it returns is checked, shared and not to be changed.
type fetcher interface {
	read(ctx context.Context, d ocispec.Descriptor) ([]byte, error)
	open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
}

// Pinned is the reference with its digest: what to write to get these bytes again.
func (a Artifact) Pinned() reference.Locator { return a.From.WithDigest(a.Root.Digest) }

// Plain reports whether it is a file without a manifest: from disk, from https, or one that
// was at hand. Nothing can be attached to it.
func (a Artifact) Plain() bool {
	return !isManifestType(a.Root.MediaType) && !isIndexType(a.Root.MediaType)
}

// Read returns one of the artifact's Files, or its Config, checked against its digest each
// time. The bytes may be shared with other callers: they must not be changed. Errors are
// those of Resolve; a descriptor that is none of them is an error.
func (a Artifact) Read(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	f, ok := a.file(d.Digest)
	if !ok {
		return nil, fmt.Errorf("%s has no file %s", a.From.Display(), d.Digest)
	}
	return a.store.read(ctx, f)
}

// ReadFile is Read for the i-th of Files, from 0.
func (a Artifact) ReadFile(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(a.Files) {
		return nil, fmt.Errorf("%s has %d files, asked for number %d", a.From.Display(), len(a.Files), i+1)
	}
	return a.Read(ctx, a.Files[i])
}

// Title is the name a file was published under: org.opencontainers.image.title, "" for
// none. It is as its publisher wrote it: not to be joined to a path.
func Title(d ocispec.Descriptor) string { return d.Annotations[ocispec.AnnotationTitle] }

// Literal wraps bytes that are already at hand (a script written inline) as an
// artifact, so that they pass through the same verification as everything else.
func Literal(from reference.Locator, role mediatypes.Role, title string, data []byte) Artifact {
	d := describe(blobType(role), data)
	if title != "" {
		d.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	}
	return Artifact{From: from, Root: d, Role: role, Files: []ocispec.Descriptor{d}, store: held{from.Display(), data}}
}

// held is content that is in memory already.
type held struct {
	ref  string
	data []byte
}

func (h held) read(_ context.Context, d ocispec.Descriptor) ([]byte, error) {
	return h.data, checkDigest(h.ref, d.Digest, h.data)
}

// blobType is the media type of a file that comes without one.
func blobType(r mediatypes.Role) string {
	if t := r.Layer(); t != "" {
		return t
	}
	return "application/octet-stream"
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: sum(data), Size: int64(len(data))}
}

func sum(data []byte) digest.Digest {
	return digest.NewDigestFromBytes(digest.SHA256, sumBytes(data))
}

func sumBytes(data []byte) []byte {
	h := sha256.Sum256(data)
	return h[:]
}

func checkDigest(ref string, want digest.Digest, data []byte) error {
	if got := sum(data); got != want {
		return &DigestError{Ref: ref, Want: want, Got: got}
	}
	return nil
}
