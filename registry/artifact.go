package registry

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// Want says what the caller expects at a place.
type Want struct {
	Role     mediatypes.Role // RoleUnknown: any known role
	Platform string          // "os/arch": which manifest of an index to use; "" for this machine's
	// Root returns what the reference resolves to, of any type: no manifest of an index is
	// chosen, and an index has no Files. For signing and verifying.
	Root bool
	// Below is the directory, absolute and without links, that a local place must be in or
	// below after links are resolved; "" for no restriction. Otherwise the error is an
	// *ownfile.BeyondError.
	Below string
}

// Artifact is a resolved reference, with its root digest. Its content is read lazily, by digest.
type Artifact struct {
	From        reference.Locator    // the reference
	Root        ocispec.Descriptor   // what the reference resolved to; for https and files the blob itself
	Role        mediatypes.Role      // of the content
	Annotations map[string]string    // of the manifest
	Files       []ocispec.Descriptor // the content, in order; the title annotation names each
	Config      ocispec.Descriptor   // config of a container image; zero otherwise
	Manifest    ocispec.Descriptor   // the manifest with Files, in an index the chosen one; zero for https and files
	Platforms   []string             // "os/arch" of every manifest of an index, in its order; nil without an index

	store fetcher
}

// fetcher reads blobs by digest. The content is verified and may be shared: callers must not change
// it.
type fetcher interface {
	read(ctx context.Context, d ocispec.Descriptor) ([]byte, error)
	open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
}

// Pinned returns the reference with the resolved digest.
func (a Artifact) Pinned() reference.Locator { return a.From.WithDigest(a.Root.Digest) }

// Plain reports whether it is a file without a manifest: from disk, from https, or a Literal. Such
// a file has no attachments.
func (a Artifact) Plain() bool {
	return !manifest.IsManifest(a.Root.MediaType) && !manifest.IsIndex(a.Root.MediaType)
}

// Read returns the content of one of the artifact's Files, or of its Config. The digest is checked
// each time. The caller must not change the bytes, which may be shared. Errors are those of
// Resolve; another descriptor is an error too.
func (a Artifact) Read(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	f, ok := a.file(d.Digest)
	if !ok {
		return nil, fmt.Errorf("%s has no file %s", a.From.Display(), d.Digest)
	}
	return a.store.read(ctx, f)
}

// ReadFile returns the content of Files[i], as Read does.
func (a Artifact) ReadFile(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(a.Files) {
		return nil, fmt.Errorf("%s has %d files, asked for number %d", a.From.Display(), len(a.Files), i+1)
	}
	return a.Read(ctx, a.Files[i])
}

// Title returns the file name that the publisher gave (org.opencontainers.image.title), "" for
// none. It is not safe to join to a path.
func Title(d ocispec.Descriptor) string { return d.Annotations[ocispec.AnnotationTitle] }

// Literal returns an artifact of bytes in memory (a script written inline), so that they pass the
// same verification as other artifacts.
func Literal(from reference.Locator, role mediatypes.Role, title string, data []byte) Artifact {
	d := manifest.Describe(blobType(role), data)
	if title != "" {
		d.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	}
	return Artifact{From: from, Root: d, Role: role, Files: []ocispec.Descriptor{d}, store: literalStore{from.Display(), data}}
}

// literalStore is content in memory.
type literalStore struct {
	ref  string
	data []byte
}

func (h literalStore) read(_ context.Context, d ocispec.Descriptor) ([]byte, error) {
	return h.data, manifest.Check(h.ref, d.Digest, h.data)
}

// blobType returns the media type of a file without a manifest.
func blobType(r mediatypes.Role) string {
	if t := r.Layer(); t != "" {
		return t
	}
	return "application/octet-stream"
}
