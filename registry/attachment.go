package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/reference"
)

// Limits of attachments. Everybody who can push can attach. More than this is an error: a large
// number of attachments must not hide others.
const (
	maxAttachments   = 64      // of one manifest
	maxAttachedFiles = 1000    // of all attachments together
	maxAttachedFile  = 1 << 20 // bytes of one
	maxAttachedBytes = 8 << 20 // bytes of all attachments together
	maxListed        = 1000    // referrers listed by a place
)

// Query selects attachments.
type Query struct {
	Tags          []string // of the same repository: attachments by the name of their tag
	ArtifactTypes []string // prefixes of the artifact types of referrers (OCI 1.1)
	// Annotations exclude referrers whose manifest has another value for one of these keys,
	// without reading their content, which may be large. A referrer without the key is read.
	Annotations map[string]string
}

// Attachment is a manifest that is attached to another one: a signature, an attestation.
type Attachment struct {
	Manifest     ocispec.Descriptor // of the attachment itself
	Tag          string             // where it was found, "" for a referrer
	ArtifactType string             // of its manifest, or else the media type of its config
	Annotations  map[string]string  // of its manifest
	Files        []AttachedFile
}

// AttachedFile is one layer of an attachment. Its digest was verified.
type AttachedFile struct {
	ocispec.Descriptor
	Data []byte // may be shared: must not be changed
}

// Attachments returns what is attached to one manifest of the artifact: its Root, its Manifest or
// one of Client.Manifests. Those under q.Tags come first, in their order, then the referrers as
// they are listed by the referrers API of OCI 1.1 or its fallback tag. The result is empty for
// content that is neither in a registry nor in a layout.
//
// A missing tag means no attachment; a missing response is an error. A referrer is accepted only if
// its own manifest names the subject. Tags and lists are requested every time, content is read by
// digest.
//
// Errors: *TooManyError, *TooLargeError (a file of more than 1 MiB, more than 8 MiB in all),
// *ManifestError (an index under a tag), *NotFoundError (a missing file), *DigestError,
// *UnreachableError, or the context's.
func (a Artifact) Attachments(ctx context.Context, subject digest.Digest, q Query) ([]Attachment, error) {
	p, ok := a.home()
	if !ok {
		return nil, nil
	}
	if !isSHA256(subject) {
		return nil, fmt.Errorf("%s: attachments of %q: expected a sha256 digest", p.ref, reference.Clean(subject.String()))
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

// home returns the registry or layout of an artifact, and reports whether it is in one.
func (a Artifact) home() (*place, bool) {
	s, ok := a.store.(interface{ home() *place })
	if !ok {
		return nil, false
	}
	p := s.home()
	return p, p.loc.Scheme == reference.SchemeOCI || p.loc.Scheme == reference.SchemeLayout
}

// home makes a place usable as the store of an artifact with attachments.
func (p *place) home() *place { return p }

func isSHA256(d digest.Digest) bool {
	return d.Validate() == nil && d.Algorithm() == digest.SHA256
}

// wants reports whether an artifact type is selected.
func (q Query) wants(artifactType string) bool {
	for _, prefix := range q.ArtifactTypes {
		if strings.HasPrefix(artifactType, prefix) {
			return true
		}
	}
	return false
}

// allows reports whether no annotation excludes a referrer.
func (q Query) allows(annotations map[string]string) bool {
	for key, want := range q.Annotations {
		if got, has := annotations[key]; has && got != want {
			return false
		}
	}
	return true
}
