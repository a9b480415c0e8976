package registry

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

func manifestTypes() []string {
	return []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerIndex}
}

func isManifestType(t string) bool { return t == ocispec.MediaTypeImageManifest || t == dockerManifest }
func isIndexType(t string) bool    { return t == ocispec.MediaTypeImageIndex || t == dockerIndex }

// document is a decoded manifest or index: one of the two is set.
type document struct {
	mediaType string
	manifest  *ocispec.Manifest
	index     *ocispec.Index
}

// decode reads a manifest or an index. announced is the media type of its descriptor or response,
// "" for none. Content that could be read as both is refused, so that two readers cannot interpret
// it differently.
func decode(announced string, data []byte) (document, error) {
	var probe struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     string          `json:"mediaType"`
		Layers        json.RawMessage `json:"layers"`
		Config        json.RawMessage `json:"config"`
		Manifests     json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return document{}, fmt.Errorf("it is not valid JSON of a manifest: %s", reference.Clean(err.Error()))
	}
	manifestLike := probe.Layers != nil || probe.Config != nil
	indexLike := probe.Manifests != nil
	known := isManifestType(announced) || isIndexType(announced)
	switch {
	case probe.SchemaVersion != 2:
		return document{}, fmt.Errorf("schemaVersion is %d, expected 2", probe.SchemaVersion)
	case manifestLike == indexLike:
		return document{}, errors.New("it must have either config and layers or manifests")
	case probe.MediaType != "" && known && probe.MediaType != announced:
		return document{}, fmt.Errorf("its mediaType is %q, expected %q", reference.Clean(probe.MediaType), announced)
	}
	d := document{mediaType: announced}
	if !known {
		d.mediaType = probe.MediaType
	}
	if d.mediaType == "" {
		d.mediaType = ocispec.MediaTypeImageManifest
		if indexLike {
			d.mediaType = ocispec.MediaTypeImageIndex
		}
	}
	return d, d.fill(data, indexLike)
}

func (d *document) fill(data []byte, index bool) error {
	if index != isIndexType(d.mediaType) || index == isManifestType(d.mediaType) {
		return fmt.Errorf("its content does not match its type %q", reference.Clean(d.mediaType))
	}
	if index {
		d.index = &ocispec.Index{}
		if err := json.Unmarshal(data, d.index); err != nil {
			return fmt.Errorf("it is not an index: %s", reference.Clean(err.Error()))
		}
		return checkDescriptors(d.index.Manifests)
	}
	d.manifest = &ocispec.Manifest{}
	if err := json.Unmarshal(data, d.manifest); err != nil {
		return fmt.Errorf("it is not a manifest: %s", reference.Clean(err.Error()))
	}
	return checkDescriptors(append([]ocispec.Descriptor{d.manifest.Config}, d.manifest.Layers...))
}

func checkDescriptors(ds []ocispec.Descriptor) error {
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
