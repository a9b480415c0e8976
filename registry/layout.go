package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry/internal/store"
	"github.com/krmcat/krmcat/registry/reference"
)

// layout reads an OCI image layout: a directory with oci-layout, index.json and blobs/sha256/HEX.
type layout struct {
	disk  store.Disk
	dir   string
	ref   string
	limit int64 // of index.json, bytes
}

// Resolve finds a tag or a digest in index.json. Without either it returns the tag "latest", or
// else the only entry that is not attached to another one.
func (l *layout) Resolve(_ context.Context, ref string) (ocispec.Descriptor, error) {
	index, err := l.index()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if d := digest.Digest(ref); d.Validate() == nil {
		return l.byDigest(index, d)
	}
	found, err := l.byTag(index, ref)
	if err != nil || found != nil {
		return value(found), err
	}
	if ref == "" {
		if found, err = l.byTag(index, reference.DefaultTag); err != nil || found != nil {
			return value(found), err
		}
		if only := l.only(index); only != nil {
			return *only, nil
		}
	}
	var tags []string
	for _, m := range index.Manifests {
		tags = append(tags, m.Annotations[ocispec.AnnotationRefName])
	}
	return ocispec.Descriptor{}, &NotFoundError{Ref: l.ref, Have: shownTags(tags)}
}

// maxOnly is the maximum number of entries in which only searches.
const maxOnly = 256

// only returns the entry that is not an attachment, nil if there is none or more than one.
func (l *layout) only(index ocispec.Index) *ocispec.Descriptor {
	if len(index.Manifests) == 1 {
		return &index.Manifests[0]
	}
	if len(index.Manifests) > maxOnly {
		return nil
	}
	var only *ocispec.Descriptor
	for i, m := range index.Manifests {
		if l.attached(m) {
			continue
		}
		if only != nil {
			return nil
		}
		only = &index.Manifests[i]
	}
	return only
}

// attached reports whether an entry is attached to another one: by the name of its tag, by cosign's
// annotation, or because its manifest, without a tag, has a subject.
func (l *layout) attached(d ocispec.Descriptor) bool {
	if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
		return attachedTag().MatchString(tag)
	}
	if _, saved := savedAs(d); saved {
		return true
	}
	if !isManifestType(d.MediaType) {
		return false
	}
	data, err := l.disk.Read(l.blobPath(d.Digest), l.limit)
	if err != nil || sum(data) != d.Digest {
		return false
	}
	doc, err := decode(d.MediaType, data)
	return err == nil && doc.manifest != nil && doc.manifest.Subject != nil
}

func value(d *ocispec.Descriptor) ocispec.Descriptor {
	if d == nil {
		return ocispec.Descriptor{}
	}
	return *d
}

func (l *layout) byTag(index ocispec.Index, tag string) (*ocispec.Descriptor, error) {
	var found *ocispec.Descriptor
	for i, m := range index.Manifests {
		if tag == "" || m.Annotations[ocispec.AnnotationRefName] != tag {
			continue
		}
		if found != nil && found.Digest != m.Digest {
			return nil, &ManifestError{Ref: l.ref, Err: fmt.Errorf("index.json has two entries for tag %q", tag)}
		}
		found = &index.Manifests[i]
	}
	if found == nil {
		found = bySavedTag(index, tag)
	}
	return found, nil
}

// byDigest returns any manifest of the layout, because manifests below an index need not be listed.
func (l *layout) byDigest(index ocispec.Index, d digest.Digest) (ocispec.Descriptor, error) {
	for _, m := range index.Manifests {
		if m.Digest == d {
			return m, nil
		}
	}
	data, err := l.disk.Read(l.blobPath(d), l.limit)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ocispec.Descriptor{}, &NotFoundError{Ref: l.ref, Digest: d}
	case errors.Is(err, bounded.ErrMore):
		return ocispec.Descriptor{}, &TooLargeError{Ref: l.ref, What: "manifest", Limit: l.limit}
	case err != nil:
		return ocispec.Descriptor{}, localError(l.ref, err)
	}
	if err := checkDigest(l.ref, d, data); err != nil {
		return ocispec.Descriptor{}, err
	}
	doc, err := decode("", data)
	if err != nil {
		return ocispec.Descriptor{}, &ManifestError{Ref: l.ref, Digest: d, Err: err}
	}
	return describe(doc.mediaType, data), nil
}

// Fetch opens a blob.
func (l *layout) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Digest.Validate() != nil {
		return nil, &ManifestError{Ref: l.ref, Err: errors.New("a descriptor has no valid digest")}
	}
	f, err := l.disk.Open(l.blobPath(d.Digest))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NotFoundError{Ref: l.ref, Digest: d.Digest}
	}
	return f, localError(l.ref, err)
}

// Exists reports whether a blob is there.
func (l *layout) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	if err := d.Digest.Validate(); err != nil {
		return false, &ManifestError{Ref: l.ref, Err: err}
	}
	info, err := os.Stat(l.blobPath(d.Digest))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, localError(l.ref, err)
	}
	return info.Size() == d.Size, nil
}

// blobPath returns the path of a blob. The digest must be valid.
func (l *layout) blobPath(d digest.Digest) string {
	return filepath.Join(l.dir, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// index reads index.json, after checking that the directory is a layout.
func (l *layout) index() (ocispec.Index, error) {
	data, err := l.disk.Read(filepath.Join(l.dir, ocispec.ImageLayoutFile), 64<<10)
	if err == nil {
		err = checkLayoutFile(data)
	}
	if errors.Is(err, os.ErrNotExist) {
		return ocispec.Index{}, &NotFoundError{Ref: l.ref, Reason: "the directory is not an OCI image layout"}
	}
	if err != nil {
		return ocispec.Index{}, l.problem(ocispec.ImageLayoutFile, err)
	}
	data, err = l.disk.Read(filepath.Join(l.dir, ocispec.ImageIndexFile), l.limit)
	if err != nil {
		return ocispec.Index{}, l.problem(ocispec.ImageIndexFile, err)
	}
	return decodeLayoutIndex(l.ref, data)
}

func (l *layout) problem(file string, err error) error {
	if errors.Is(err, bounded.ErrMore) {
		return &TooLargeError{Ref: l.ref, What: file, Limit: l.limit}
	}
	if errors.As(err, new(*os.PathError)) || errors.As(err, new(*ownfile.BeyondError)) {
		return localError(l.ref, err)
	}
	return &ManifestError{Ref: l.ref, Err: fmt.Errorf("%s: %w", file, err)}
}

func checkLayoutFile(data []byte) error {
	var v ocispec.ImageLayout
	if err := json.Unmarshal(data, &v); err != nil {
		return errors.New("it is not JSON")
	}
	if v.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("layout version %q is not %s", reference.Clean(v.Version), ocispec.ImageLayoutVersion)
	}
	return nil
}

func decodeLayoutIndex(ref string, data []byte) (ocispec.Index, error) {
	var index ocispec.Index
	err := json.Unmarshal(data, &index)
	switch {
	case err != nil:
		err = fmt.Errorf("index.json is not an index: %s", reference.Clean(err.Error()))
	case index.SchemaVersion != 2:
		err = fmt.Errorf("index.json has schemaVersion %d, expected 2", index.SchemaVersion)
	default:
		err = checkDescriptors(index.Manifests)
	}
	if err != nil {
		return ocispec.Index{}, &ManifestError{Ref: ref, Err: err}
	}
	return index, nil
}
