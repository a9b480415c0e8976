package regtest

import (
	"encoding/json"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Repository is the content of one repository of a Fake.
type Repository struct {
	Manifests map[string]Manifest // by tag and by digest
	Blobs     map[string][]byte   // by digest
	// Listed has further referrers by subject, besides the manifests that name the subject.
	Listed map[digest.Digest][]ocispec.Descriptor

	uploads map[string][]byte // unfinished, by the path of the upload
}

// Manifest is a manifest or an index, byte for byte.
type Manifest struct {
	MediaType string
	Data      []byte
}

func newRepository() *Repository {
	return &Repository{
		Manifests: map[string]Manifest{}, Blobs: map[string][]byte{},
		Listed: map[digest.Digest][]ocispec.Descriptor{}, uploads: map[string][]byte{},
	}
}

// Descriptor describes the bytes.
func (m Manifest) Descriptor() ocispec.Descriptor { return describe(m.MediaType, m.Data) }

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// Blob adds a blob.
func (r *Repository) Blob(mediaType string, data []byte) ocispec.Descriptor {
	d := describe(mediaType, data)
	r.Blobs[d.Digest.String()] = data
	return d
}

// Put adds a manifest or an index under its digest and under tags.
func (r *Repository) Put(m Manifest, tags ...string) ocispec.Descriptor {
	d := m.Descriptor()
	for _, name := range append(tags, d.Digest.String()) {
		r.Manifests[name] = m
	}
	return d
}

// Referrers returns the manifests that name a subject, and those of Listed.
func (r *Repository) Referrers(subject digest.Digest) []ocispec.Descriptor {
	var list []ocispec.Descriptor
	for name, m := range r.Manifests {
		var read ocispec.Manifest
		isDigest := strings.HasPrefix(name, "sha256:")
		if !isDigest || json.Unmarshal(m.Data, &read) != nil || read.Subject == nil || read.Subject.Digest != subject {
			continue
		}
		d := m.Descriptor()
		d.Digest = digest.Digest(name) // the name of the manifest, even if its bytes were changed
		d.ArtifactType, d.Annotations = read.ArtifactType, read.Annotations
		list = append(list, d)
	}
	return append(list, r.Listed[subject]...)
}

// complete reports whether all parts of a manifest exist. The subject may be missing: the OCI
// specification allows it.
func (r *Repository) complete(m Manifest) bool {
	var read struct {
		Config            *ocispec.Descriptor
		Layers, Manifests []ocispec.Descriptor
	}
	if json.Unmarshal(m.Data, &read) != nil {
		return false
	}
	if read.Config != nil {
		read.Layers = append(read.Layers, *read.Config)
	}
	for _, d := range read.Layers {
		if _, ok := r.Blobs[d.Digest.String()]; !ok {
			return false
		}
	}
	for _, d := range read.Manifests {
		if _, ok := r.Manifests[d.Digest.String()]; !ok {
			return false
		}
	}
	return true
}
