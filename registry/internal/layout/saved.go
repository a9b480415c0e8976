package layout

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/internal/problem"
)

// The annotation of entries that `cosign save` writes in place of tags, and its values. Bundles
// saved by cosign v3 are blobs that index.json does not list.
const (
	savedKind  = "kind"
	savedImage = "dev.cosignproject.cosign/image"
	savedIndex = "dev.cosignproject.cosign/imageIndex"
	savedSigs  = "dev.cosignproject.cosign/sigs"
	savedAtts  = "dev.cosignproject.cosign/atts"
)

// Limits of the search for manifests that index.json does not list.
const (
	maxBlobs     = 10_000   // files
	maxBlobBytes = 64 << 20 // bytes of blobs that may be manifests
)

// savedAs returns the suffix of the tag that an entry of cosign would have in a registry, and
// reports whether it is an attachment.
func savedAs(d ocispec.Descriptor) (suffix string, attached bool) {
	switch d.Annotations[savedKind] {
	case savedSigs:
		return ".sig", true
	case savedAtts:
		return ".att", true
	}
	return "", false
}

// saved returns the one artifact of a layout that cosign saved, nil for other layouts.
func saved(index ocispec.Index) *ocispec.Descriptor {
	var only *ocispec.Descriptor
	for i, m := range index.Manifests {
		if kind := m.Annotations[savedKind]; kind != savedImage && kind != savedIndex {
			continue
		}
		if only != nil {
			return nil // it is unknown which of them the rest belongs to
		}
		only = &index.Manifests[i]
	}
	return only
}

// bySavedTag returns the entry of a layout saved by cosign that would have a tag in a registry, nil
// for none.
func bySavedTag(index ocispec.Index, tag string) *ocispec.Descriptor {
	of := saved(index)
	if of == nil {
		return nil
	}
	for i, m := range index.Manifests {
		if suffix, attached := savedAs(m); attached && tag == manifest.FallbackTag(of.Digest)+suffix {
			return &index.Manifests[i]
		}
	}
	return nil
}

// Unlisted searches the blobs of a layout saved by cosign for manifests that name a subject.
func (l *Layout) Unlisted(ctx context.Context, index ocispec.Index, subject digest.Digest) ([]ocispec.Descriptor, error) {
	if saved(index) == nil {
		return nil, nil
	}
	dir, err := os.Open(filepath.Join(l.Dir, ocispec.ImageBlobsDir, digest.SHA256.String()))
	if err != nil {
		return nil, problem.Local(l.Ref, err)
	}
	defer dir.Close()
	files, err := dir.ReadDir(maxBlobs + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, problem.Local(l.Ref, err)
	}
	if len(files) > maxBlobs {
		return nil, &problem.TooManyError{Ref: l.Ref, Digest: subject, What: "blobs", Limit: maxBlobs}
	}
	var found []ocispec.Descriptor
	left := int64(maxBlobBytes)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := digest.NewDigestFromEncoded(digest.SHA256, f.Name())
		if d.Validate() != nil {
			continue // not a blob
		}
		info, err := os.Stat(l.blobPath(d))
		if errors.Is(err, os.ErrNotExist) && f.Type().IsRegular() || err == nil && info.Size() > l.Limit {
			continue // removed meanwhile, or larger than any manifest
		}
		if err != nil {
			return nil, problem.Local(l.Ref, err)
		}
		if left -= info.Size(); left < 0 {
			return nil, &problem.TooLargeError{Ref: l.Ref, What: "manifests that index.json does not list", Limit: maxBlobBytes}
		}
		m, names, err := l.referrer(d, subject)
		if err != nil {
			return nil, err
		}
		if names {
			found = append(found, m)
		}
	}
	return found, nil
}

// referrer returns the descriptor of a blob, and reports whether it is a manifest that names the
// subject. A blob that cannot be read, or has another digest, is an error, because it may be one.
func (l *Layout) referrer(d, subject digest.Digest) (out ocispec.Descriptor, names bool, err error) {
	data, err := l.Disk.Read(l.blobPath(d), l.Limit)
	if err != nil {
		return out, false, problem.Local(l.Ref, err)
	}
	if err := manifest.Check(l.Ref, d, data); err != nil {
		return out, false, err
	}
	doc, err := manifest.Decode("", data)
	if err != nil || doc.Manifest == nil || doc.Manifest.Subject == nil || doc.Manifest.Subject.Digest != subject {
		return out, false, nil //nolint:nilerr // most blobs are not manifests
	}
	out = manifest.Describe(doc.MediaType, data)
	out.ArtifactType, out.Annotations = doc.Manifest.ArtifactType, doc.Manifest.Annotations
	if out.ArtifactType == "" {
		out.ArtifactType = doc.Manifest.Config.MediaType
	}
	return out, true, nil
}
