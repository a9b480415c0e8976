package registry

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
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
		if suffix, attached := savedAs(m); attached && tag == fallbackTag(of.Digest)+suffix {
			return &index.Manifests[i]
		}
	}
	return nil
}

// savedReferrers searches the blobs of a layout saved by cosign for manifests that name a subject.
func (l *layout) savedReferrers(ctx context.Context, index ocispec.Index, subject digest.Digest) ([]ocispec.Descriptor, error) {
	if saved(index) == nil {
		return nil, nil
	}
	dir, err := os.Open(filepath.Join(l.dir, ocispec.ImageBlobsDir, digest.SHA256.String()))
	if err != nil {
		return nil, localError(l.ref, err)
	}
	defer dir.Close()
	files, err := dir.ReadDir(maxBlobs + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, localError(l.ref, err)
	}
	if len(files) > maxBlobs {
		return nil, &TooManyError{Ref: l.ref, Digest: subject, What: "blobs", Limit: maxBlobs}
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
		if errors.Is(err, os.ErrNotExist) && f.Type().IsRegular() || err == nil && info.Size() > l.limit {
			continue // removed meanwhile, or larger than any manifest
		}
		if err != nil {
			return nil, localError(l.ref, err)
		}
		if left -= info.Size(); left < 0 {
			return nil, &TooLargeError{Ref: l.ref, What: "manifests that index.json does not list", Limit: maxBlobBytes}
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
func (l *layout) referrer(d, subject digest.Digest) (out ocispec.Descriptor, names bool, err error) {
	data, err := l.disk.Read(l.blobPath(d), l.limit)
	if err != nil {
		return out, false, localError(l.ref, err)
	}
	if err := checkDigest(l.ref, d, data); err != nil {
		return out, false, err
	}
	doc, err := decode("", data)
	if err != nil || doc.manifest == nil || doc.manifest.Subject == nil || doc.manifest.Subject.Digest != subject {
		return out, false, nil //nolint:nilerr // most blobs are not manifests
	}
	out = describe(doc.mediaType, data)
	out.ArtifactType, out.Annotations = doc.manifest.ArtifactType, doc.manifest.Annotations
	if out.ArtifactType == "" {
		out.ArtifactType = doc.manifest.Config.MediaType
	}
	return out, true, nil
}
