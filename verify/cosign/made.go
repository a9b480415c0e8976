package cosign

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
)

// made reports what is wrong with signatures that a judge made: each has to say what the claim
// says, and nothing else, and has to be stored where signatures of the claim's digest are. Whether
// they hold is for who verifies them.
func (c Claim) made(list []registry.Attachment) error {
	if len(list) == 0 {
		return errors.New("it made no signature")
	}
	for _, a := range list {
		says := c.bundle
		if a.Tag != "" {
			says = c.legacy
		}
		if len(a.Files) != 1 || a.Files[0].Digest != digest.FromBytes(a.Files[0].Data) || !says(a) {
			return errors.New("it signed something else than it was asked to")
		}
	}
	return nil
}

// bundle reports whether an attachment is a sigstore bundle of the claim.
func (c Claim) bundle(a registry.Attachment) bool {
	var b struct {
		Envelope struct {
			Payload []byte `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	var s struct {
		Subject []struct {
			Digest      map[string]string `json:"digest"`
			Annotations map[string]string `json:"annotations"`
		} `json:"subject"`
		PredicateType string         `json:"predicateType"`
		Predicate     map[string]any `json:"predicate"`
	}
	if json.Unmarshal(a.Files[0].Data, &b) != nil || json.Unmarshal(b.Envelope.Payload, &s) != nil || len(s.Subject) != 1 {
		return false
	}
	of := s.Subject[0]
	return strings.HasPrefix(a.ArtifactType, BundleType+".") && maps.Equal(a.Annotations, BundleAnnotations()) && len(a.Files[0].Annotations) == 0 &&
		maps.Equal(of.Digest, map[string]string{c.Digest.Algorithm().String(): c.Digest.Encoded()}) &&
		maps.Equal(of.Annotations, c.Annotations) && s.PredicateType == PredicateType && len(s.Predicate) == 0
}

// legacy reports whether an attachment is a signature of the claim in the legacy form.
func (c Claim) legacy(a registry.Attachment) bool {
	var p struct {
		Critical struct {
			Image struct {
				Digest digest.Digest `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
		Optional map[string]string `json:"optional"`
	}
	return json.Unmarshal(a.Files[0].Data, &p) == nil && a.Tag == LegacyTag(c.Digest) && a.ArtifactType == "" && len(a.Annotations) == 0 &&
		p.Critical.Image.Digest == c.Digest && maps.Equal(p.Optional, c.Annotations)
}

// BundleAnnotations are those of the manifest of a bundle, by which others choose among referrers.
// There is no time among them: what is signed says nothing of it, and it would make two of one.
func BundleAnnotations() map[string]string {
	return map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", PredicateAnnotation: PredicateType}
}
