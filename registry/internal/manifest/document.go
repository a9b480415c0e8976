package manifest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/reference"
)

// Docker's media types of manifests and indexes, which have the same structure as OCI's.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// Types lists the media types of manifests and indexes.
func Types() []string {
	return []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerIndex}
}

// IsManifest reports whether a media type is that of a manifest.
func IsManifest(t string) bool { return t == ocispec.MediaTypeImageManifest || t == dockerManifest }

// IsIndex reports whether a media type is that of an index.
func IsIndex(t string) bool { return t == ocispec.MediaTypeImageIndex || t == dockerIndex }

// Document is a decoded manifest or index: one of the two is set.
type Document struct {
	MediaType string
	Manifest  *ocispec.Manifest
	Index     *ocispec.Index
}

// Decode reads a manifest or an index. announced is the media type of its descriptor or response,
// "" for none. Content that could be read as both is refused, so that two readers cannot interpret
// it differently.
func Decode(announced string, data []byte) (Document, error) {
	var probe struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     string          `json:"mediaType"`
		Layers        json.RawMessage `json:"layers"`
		Config        json.RawMessage `json:"config"`
		Manifests     json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return Document{}, fmt.Errorf("it is not valid JSON of a manifest: %s", reference.Clean(err.Error()))
	}
	manifestLike := probe.Layers != nil || probe.Config != nil
	indexLike := probe.Manifests != nil
	known := IsManifest(announced) || IsIndex(announced)
	switch {
	case probe.SchemaVersion != 2:
		return Document{}, fmt.Errorf("schemaVersion is %d, expected 2", probe.SchemaVersion)
	case manifestLike == indexLike:
		return Document{}, errors.New("it must have either config and layers or manifests")
	case probe.MediaType != "" && known && probe.MediaType != announced:
		return Document{}, fmt.Errorf("its mediaType is %q, expected %q", reference.Clean(probe.MediaType), announced)
	}
	d := Document{MediaType: announced}
	if !known {
		d.MediaType = probe.MediaType
	}
	if d.MediaType == "" {
		d.MediaType = ocispec.MediaTypeImageManifest
		if indexLike {
			d.MediaType = ocispec.MediaTypeImageIndex
		}
	}
	return d, d.fill(data, indexLike)
}

func (d *Document) fill(data []byte, index bool) error {
	if index != IsIndex(d.MediaType) || index == IsManifest(d.MediaType) {
		return fmt.Errorf("its content does not match its type %q", reference.Clean(d.MediaType))
	}
	if index {
		d.Index = &ocispec.Index{}
		if err := json.Unmarshal(data, d.Index); err != nil {
			return fmt.Errorf("it is not an index: %s", reference.Clean(err.Error()))
		}
		return CheckDescriptors(d.Index.Manifests)
	}
	d.Manifest = &ocispec.Manifest{}
	if err := json.Unmarshal(data, d.Manifest); err != nil {
		return fmt.Errorf("it is not a manifest: %s", reference.Clean(err.Error()))
	}
	return CheckDescriptors(append([]ocispec.Descriptor{d.Manifest.Config}, d.Manifest.Layers...))
}

// CheckDescriptors refuses negative sizes, and digests other than sha256.
func CheckDescriptors(ds []ocispec.Descriptor) error {
	for i, d := range ds {
		if d.Size < 0 {
			return fmt.Errorf("descriptor %d has size %d", i+1, d.Size)
		}
		if d.Digest.Validate() != nil || d.Digest.Algorithm() != digest.SHA256 {
			return fmt.Errorf("descriptor %d has digest %q: expected a sha256", i+1, reference.Clean(d.Digest.String()))
		}
	}
	return nil
}
