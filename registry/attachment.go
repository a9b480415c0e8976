package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/reference"
)

// What is read of attachments. Anyone who may push may attach: beyond these numbers it is
// an error, so that a flood cannot hide what stands behind it.
const (
	maxAttachments   = 64      // of one manifest
	maxAttachedFiles = 1000    // of all attachments together
	maxAttachedFile  = 1 << 20 // bytes of one
	maxAttachedBytes = 8 << 20 // bytes of all attachments together
	maxListed        = 1000    // referrers that a place lists
)

// Query says which attachments are asked for.
type Query struct {
	Tags          []string // of the same repository: manifests that belong to the subject by the name of their tag
	ArtifactTypes []string // of referrers (OCI 1.1), matched by prefix
	// Annotations leave out referrers whose manifest has another value under one of these
	// keys, unread: what signs is not looked for in a large bill of materials. A referrer
	// without the key is read.
	Annotations map[string]string
}

// Attachment is a manifest that belongs to another one: a signature, an attestation.
type Attachment struct {
	Manifest     ocispec.Descriptor // of the attachment itself
	Tag          string             // that it was found under, "" for a referrer
	ArtifactType string             // as its manifest says; else the media type of its config
	Annotations  map[string]string  // of its manifest
	Files        []AttachedFile
}

// AttachedFile is one layer of an attachment, read and checked against its digest.
type AttachedFile struct {
	ocispec.Descriptor
	Data []byte // may be shared: not to be changed
}

// Attachments fetches what is attached to one manifest of the artifact: its Root, its
// Manifest or one of Client.Manifests. First come those of q.Tags in their order, then
// the referrers, by the referrers API of OCI 1.1 or its fallback tag, as they are listed.
// Nothing is attached to what is not in a registry or a layout.
//
// A tag that is not there is no attachment; a place that does not answer is an error. A
// referrer counts only if its own manifest names the subject. Tags and lists are asked for
// every time, contents are read by digest.
//
// Errors: *TooManyError, *TooLargeError (a file of more than 1 MiB, more than 8 MiB in
// all), *ManifestError (an index stands under a tag), *NotFoundError (a file is missing),
// *DigestError, *UnreachableError, or the context's.
func (a Artifact) Attachments(ctx context.Context, subject digest.Digest, q Query) ([]Attachment, error) {
	p, ok := a.home()
	if !ok {
		return nil, nil
	}
	if !isSHA256(subject) {
		return nil, fmt.Errorf("%s: attachments of %q: a sha256 digest is expected", p.ref, reference.Clean(subject.String()))
	}
	for _, tag := range q.Tags {
		if !reference.IsTag(tag) {
			return nil, fmt.Errorf("%s: attachments under %q, which is not a tag", p.ref, reference.Clean(tag))
		}
	}
	r := attachmentReader{place: p, subject: subject, query: q, budget: &budget{}}
	found, err := r.read(ctx)
	return found, classify(p.ref, err)
}

// home is the registry or layout that an artifact is in.
func (a Artifact) home() (*place, bool) {
	s, ok := a.store.(interface{ home() *place })
	if !ok {
		return nil, false
	}
	p := s.home()
	return p, p.loc.Scheme == reference.SchemeOCI || p.loc.Scheme == reference.SchemeLayout
}

func (p *place) home() *place { return p }

func isSHA256(d digest.Digest) bool {
	return d.Validate() == nil && d.Algorithm() == digest.SHA256
}

// wants reports whether a referrer of this type is asked for.
func (q Query) wants(artifactType string) bool {
	for _, prefix := range q.ArtifactTypes {
		if strings.HasPrefix(artifactType, prefix) {
			return true
		}
	}
	return false
}

// allows reports whether no annotation speaks against reading.
func (q Query) allows(annotations map[string]string) bool {
	for key, want := range q.Annotations {
		if got, has := annotations[key]; has && got != want {
			return false
		}
	}
	return true
}
