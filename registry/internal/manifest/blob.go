package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/problem"
)

// Blob is content with its descriptor.
type Blob struct {
	Desc ocispec.Descriptor
	Data []byte
}

// Describe returns the descriptor of content.
func Describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: Sum(data), Size: int64(len(data))}
}

// Sum returns the digest of content.
func Sum(data []byte) digest.Digest {
	h := sha256.Sum256(data)
	return digest.NewDigestFromBytes(digest.SHA256, h[:])
}

// Check returns a *problem.DigestError if content has another digest.
func Check(ref string, want digest.Digest, data []byte) error {
	if got := Sum(data); got != want {
		return &problem.DigestError{Ref: ref, Want: want, Got: got}
	}
	return nil
}

// FallbackTag returns the tag under which registries without the referrers API have the referrers
// of a manifest.
func FallbackTag(d digest.Digest) string { return d.Algorithm().String() + "-" + d.Encoded() }

// Packed is an artifact that can be pushed.
type Packed struct {
	Root      ocispec.Descriptor
	Blobs     []Blob // layers and config
	Manifests []Blob // the root last
}

// Add adds a manifest or an index, once, and returns its descriptor.
func (p *Packed) Add(mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("packing a manifest: %w", err)
	}
	d := Describe(mediaType, data)
	same := func(b Blob) bool { return b.Desc.Digest == d.Digest }
	if !slices.ContainsFunc(p.Manifests, same) {
		p.Manifests = append(p.Manifests, Blob{d, data})
	}
	return d, nil
}
