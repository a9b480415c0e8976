package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/problem"
	"github.com/krmcat/krmcat/registry/internal/store"
	"github.com/krmcat/krmcat/registry/reference"
)

// Layout reads an OCI image layout: a directory with oci-layout, index.json and blobs/sha256/HEX.
// The errors are those of package problem.
type Layout struct {
	Disk  store.Disk
	Dir   string // the directory
	Ref   string // the reference, for errors
	Limit int64  // of index.json and of each manifest, in bytes
}

// Resolve finds a tag or a digest in index.json. Without either it returns the tag "latest", or
// else the only entry that is not attached to another one.
func (l *Layout) Resolve(_ context.Context, ref string) (ocispec.Descriptor, error) {
	index, err := l.Index()
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
	return ocispec.Descriptor{}, &problem.NotFoundError{Ref: l.Ref, Have: manifest.ShownTags(tags)}
}

// maxOnly is the maximum number of entries in which only searches.
const maxOnly = 256

// only returns the entry that is not an attachment, nil if there is none or more than one.
func (l *Layout) only(index ocispec.Index) *ocispec.Descriptor {
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
func (l *Layout) attached(d ocispec.Descriptor) bool {
	if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
		return manifest.IsAttachedTag(tag)
	}
	if _, saved := savedAs(d); saved {
		return true
	}
	if !manifest.IsManifest(d.MediaType) {
		return false
	}
	data, err := l.Disk.Read(l.blobPath(d.Digest), l.Limit)
	if err != nil || manifest.Sum(data) != d.Digest {
		return false
	}
	doc, err := manifest.Decode(d.MediaType, data)
	return err == nil && doc.Manifest != nil && doc.Manifest.Subject != nil
}

func value(d *ocispec.Descriptor) ocispec.Descriptor {
	if d == nil {
		return ocispec.Descriptor{}
	}
	return *d
}

func (l *Layout) byTag(index ocispec.Index, tag string) (*ocispec.Descriptor, error) {
	var found *ocispec.Descriptor
	for i, m := range index.Manifests {
		if tag == "" || m.Annotations[ocispec.AnnotationRefName] != tag {
			continue
		}
		if found != nil && found.Digest != m.Digest {
			return nil, &problem.ManifestError{Ref: l.Ref, Err: fmt.Errorf("index.json has two entries for tag %q", tag)}
		}
		found = &index.Manifests[i]
	}
	if found == nil {
		found = bySavedTag(index, tag)
	}
	return found, nil
}

// byDigest returns any manifest of the layout, because manifests below an index need not be listed.
func (l *Layout) byDigest(index ocispec.Index, d digest.Digest) (ocispec.Descriptor, error) {
	for _, m := range index.Manifests {
		if m.Digest == d {
			return m, nil
		}
	}
	data, err := l.Disk.Read(l.blobPath(d), l.Limit)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ocispec.Descriptor{}, &problem.NotFoundError{Ref: l.Ref, Digest: d}
	case errors.Is(err, bounded.ErrMore):
		return ocispec.Descriptor{}, &problem.TooLargeError{Ref: l.Ref, What: "manifest", Limit: l.Limit}
	case err != nil:
		return ocispec.Descriptor{}, problem.Local(l.Ref, err)
	}
	if err := manifest.Check(l.Ref, d, data); err != nil {
		return ocispec.Descriptor{}, err
	}
	doc, err := manifest.Decode("", data)
	if err != nil {
		return ocispec.Descriptor{}, &problem.ManifestError{Ref: l.Ref, Digest: d, Err: err}
	}
	return manifest.Describe(doc.MediaType, data), nil
}

// IsFile reports whether the blob with this digest is neither a manifest nor an index: a layout
// also stores files of artifacts by digest.
func (l *Layout) IsFile(d digest.Digest) bool {
	index, err := l.Index()
	if err != nil || slices.ContainsFunc(index.Manifests, func(m ocispec.Descriptor) bool { return m.Digest == d }) {
		return false
	}
	data, err := l.Disk.Read(l.blobPath(d), l.Limit)
	if err != nil { // an index larger than the limit cannot be used
		return errors.Is(err, bounded.ErrMore)
	}
	var probe struct {
		Manifests json.RawMessage `json:"manifests"`
	}
	return manifest.Sum(data) == d && (json.Unmarshal(data, &probe) != nil || probe.Manifests == nil)
}

// Fetch opens a blob.
func (l *Layout) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Digest.Validate() != nil {
		return nil, &problem.ManifestError{Ref: l.Ref, Err: errors.New("a descriptor has no valid digest")}
	}
	f, err := l.Disk.Open(l.blobPath(d.Digest))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &problem.NotFoundError{Ref: l.Ref, Digest: d.Digest}
	}
	return f, problem.Local(l.Ref, err)
}

// Exists reports whether a blob is there.
func (l *Layout) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	if err := d.Digest.Validate(); err != nil {
		return false, &problem.ManifestError{Ref: l.Ref, Err: err}
	}
	info, err := os.Stat(l.blobPath(d.Digest))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, problem.Local(l.Ref, err)
	}
	return info.Size() == d.Size, nil
}

// blobPath returns the path of a blob. The digest must be valid.
func (l *Layout) blobPath(d digest.Digest) string {
	return filepath.Join(l.Dir, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// Index reads index.json, after checking that the directory is a layout.
func (l *Layout) Index() (ocispec.Index, error) {
	data, err := l.Disk.Read(filepath.Join(l.Dir, ocispec.ImageLayoutFile), 64<<10)
	if err == nil {
		err = checkLayoutFile(data)
	}
	if errors.Is(err, os.ErrNotExist) {
		return ocispec.Index{}, &problem.NotFoundError{Ref: l.Ref, Reason: "the directory is not an OCI image layout"}
	}
	if err != nil {
		return ocispec.Index{}, l.problem(ocispec.ImageLayoutFile, err)
	}
	data, err = l.Disk.Read(filepath.Join(l.Dir, ocispec.ImageIndexFile), l.Limit)
	if err != nil {
		return ocispec.Index{}, l.problem(ocispec.ImageIndexFile, err)
	}
	return decodeLayoutIndex(l.Ref, data)
}

func (l *Layout) problem(file string, err error) error {
	if errors.Is(err, bounded.ErrMore) {
		return &problem.TooLargeError{Ref: l.Ref, What: file, Limit: l.Limit}
	}
	if errors.As(err, new(*os.PathError)) || errors.As(err, new(*ownfile.BeyondError)) {
		return problem.Local(l.Ref, err)
	}
	return &problem.ManifestError{Ref: l.Ref, Err: fmt.Errorf("%s: %w", file, err)}
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
		err = manifest.CheckDescriptors(index.Manifests)
	}
	if err != nil {
		return ocispec.Index{}, &problem.ManifestError{Ref: ref, Err: err}
	}
	return index, nil
}
