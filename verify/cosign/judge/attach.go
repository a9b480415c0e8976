package judge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// bundleVersion is the version that krmcat writes. cosign v2.4 and later, and v3, read it.
const bundleVersion = bundleType + ".v0.3+json"

const (
	// nowhere is the reference of content in a layout, whose path is not published.
	nowhere      = "oci-layout"
	maxReference = 4 << 10 // bytes
)

// claim is a Claim to sign.
type claim struct{ Claim }

// check refuses claims that could not be verified.
func (c claim) check() error {
	if err := c.Digest.Validate(); err != nil {
		return fmt.Errorf("signing %q: %w", c.Digest, err)
	}
	if c.Digest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("signing %s: cosign signs sha256 only", c.Digest)
	}
	if n := len(c.Annotations); n > maxAnnotations {
		return failure.Untrusted.Mark(fmt.Errorf("signing %s with %d annotations: at most %d are allowed", c.Digest, n, maxAnnotations))
	}
	for k := range c.Annotations {
		if k == "" {
			return fmt.Errorf("signing %s: an annotation has no name", c.Digest)
		}
	}
	if n := len(c.Reference); n > maxReference {
		return failure.Untrusted.Mark(fmt.Errorf("signing %s: its reference has %d bytes, at most %d are allowed", c.Digest, n, maxReference))
	}
	for _, r := range c.Reference {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("signing %s: %q is not a reference", c.Digest, c.Reference)
		}
	}
	return nil
}

// statement returns the statement that a bundle signs, as JSON.
func (c claim) statement() ([]byte, error) {
	type subject struct {
		Digest      map[string]string `json:"digest"`
		Annotations map[string]string `json:"annotations"`
	}
	s := subject{map[string]string{c.Digest.Algorithm().String(): c.Digest.Encoded()}, c.Annotations}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	return json.Marshal(struct {
		Type          string         `json:"_type"`
		Subject       []subject      `json:"subject"`
		PredicateType string         `json:"predicateType"`
		Predicate     map[string]any `json:"predicate"`
	}{statementV1, []subject{s}, predicateType, map[string]any{}})
}

// simplePayload returns the payload that the legacy form signs, as JSON.
func (c claim) simplePayload() ([]byte, error) {
	// cosign does not compare it. Other tools parse it as a reference, so it is not empty.
	where := c.Reference
	if where == "" {
		where = nowhere
	}
	p := payload.SimpleContainerImage{Critical: payload.Critical{
		Identity: payload.Identity{DockerReference: where},
		Image:    payload.Image{DockerManifestDigest: c.Digest.String()},
		Type:     payload.CosignSignatureType,
	}}
	for k, v := range c.Annotations {
		if p.Optional == nil {
			p.Optional = map[string]any{}
		}
		p.Optional[k] = v
	}
	return json.Marshal(p)
}

// legacyAttachment returns the attachment of a signature in the legacy form. extra are further
// annotations of the layer: the certificate, the log entry.
func (c claim) legacyAttachment(simple, sig []byte, extra map[string]string) registry.Attachment {
	a := map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(sig)}
	for k, v := range extra {
		a[k] = v
	}
	f := attached(legacyType, simple)
	f.Annotations = a
	return registry.Attachment{Tag: cosign.LegacyTag(c.Digest), Files: []registry.AttachedFile{f}}
}

// bundleAttachment stores a bundle as a referrer.
func bundleAttachment(data []byte) registry.Attachment {
	return registry.Attachment{
		ArtifactType: bundleVersion,
		Annotations:  cosign.BundleAnnotations(),
		Files:        []registry.AttachedFile{attached(bundleVersion, data)},
	}
}

func attached(mediaType string, data []byte) registry.AttachedFile {
	return registry.AttachedFile{
		Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))},
		Data:       data,
	}
}
