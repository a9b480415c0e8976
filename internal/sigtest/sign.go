package sigtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmcat/krmcat/registry"
)

// Claim is the content of a signature.
type Claim struct {
	Who         Identity
	Digest      digest.Digest
	Reference   string            // HOST/REPO, in the legacy form only
	Annotations map[string]string // in the legacy form only
	Timestamp   bool              // also request a timestamp
	// PredicateType is the predicate type of a bundle, "" for the one of signatures.
	PredicateType string
}

// Legacy makes a keyless signature as cosign v2 stores it under a tag.
func (s *Sigstore) Legacy(c Claim) registry.Attachment {
	s.t.Helper()
	a, err := s.legacy(s.t.Context(), c)
	if err != nil {
		s.t.Fatalf("signing: %v", err)
	}
	return a
}

func (s *Sigstore) legacy(ctx context.Context, c Claim) (registry.Attachment, error) {
	var none registry.Attachment
	payload, err := c.payload()
	if err != nil {
		return none, err
	}
	key, err := newKey()
	if err != nil {
		return none, err
	}
	b := s.behaviour()
	from := s.from(b)
	leaf, err := from.issue(c.Who, key.Public(), b)
	if err != nil {
		return none, err
	}
	hash := sha256.Sum256(payload)
	sig, err := ecdsa.SignASN1(rand.Reader, key, hash[:])
	if err != nil {
		return none, err
	}
	proposed, err := hashedRekord(hash[:], sig, leaf)
	if err != nil {
		return none, err
	}
	_, e, err := s.record(ctx, proposed, b)
	if err != nil {
		return none, err
	}
	logged, err := e.annotation()
	if err != nil {
		return none, err
	}
	annotations := map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(sig),
		"dev.sigstore.cosign/certificate":    string(certificatePEM(leaf)),
		"dev.sigstore.cosign/chain":          string(from.chainPEM()),
		"dev.sigstore.cosign/bundle":         logged,
	}
	if c.Timestamp {
		if annotations["dev.sigstore.cosign/rfc3161timestamp"], err = s.stamp(ctx, sig); err != nil {
			return none, err
		}
	}
	return registry.Attachment{
		Tag:   "sha256-" + c.Digest.Encoded() + ".sig",
		Files: []registry.AttachedFile{file("application/vnd.dev.cosign.simplesigning.v1+json", payload, annotations)},
	}, nil
}

// payload returns what the legacy form signs.
func (c Claim) payload() ([]byte, error) {
	var optional map[string]string // null if there are none
	if len(c.Annotations) > 0 {
		optional = c.Annotations
	}
	return json.Marshal(map[string]any{
		"critical": map[string]any{
			"identity": map[string]any{"docker-reference": c.Reference},
			"image":    map[string]any{"docker-manifest-digest": c.Digest.String()},
			"type":     "cosign container image signature",
		},
		"optional": optional,
	})
}

// hashedRekord returns the proposed log entry of a legacy signature.
func hashedRekord(hash, sig, leaf []byte) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": "0.0.1", "kind": "hashedrekord",
		"spec": map[string]any{
			"data":      map[string]any{"hash": map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(hash)}},
			"signature": map[string]any{"content": sig, "publicKey": map[string]any{"content": certificatePEM(leaf)}},
		},
	})
}

// stamp returns a timestamp in the form in which cosign stores it next to a signature.
func (s *Sigstore) stamp(ctx context.Context, sig []byte) (string, error) {
	stamp, err := sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: s.TSAURL}).GetTimestamp(ctx, sig)
	if err != nil {
		return "", err
	}
	kept, err := json.Marshal(map[string]any{"SignedRFC3161Timestamp": stamp})
	return string(kept), err
}

// Bundle makes a keyless signature as cosign v3 stores it as a referrer. It uses sigstore-go and
// the services.
func (s *Sigstore) Bundle(c Claim) registry.Attachment {
	s.t.Helper()
	a, err := s.bundle(s.t.Context(), c)
	if err != nil {
		s.t.Fatalf("signing: %v", err)
	}
	return a
}

func (s *Sigstore) bundle(ctx context.Context, c Claim) (registry.Attachment, error) {
	var none registry.Attachment
	predicate := c.PredicateType
	if predicate == "" {
		predicate = "https://sigstore.dev/cosign/sign/v1"
	}
	statement, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate, "predicate": map[string]any{},
		"subject": []map[string]any{{"digest": map[string]any{"sha256": c.Digest.Encoded()}, "annotations": c.Annotations}},
	})
	if err != nil {
		return none, err
	}
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return none, err
	}
	o := sign.BundleOptions{
		CertificateProvider:        sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.FulcioURL}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: s.Token(c.Who)},
		TransparencyLogs:           []sign.Transparency{sign.NewRekor(&sign.RekorOptions{BaseURL: s.RekorURL + whole})},
		Context:                    ctx,
	}
	if c.Timestamp {
		o.TimestampAuthorities = []*sign.TimestampAuthority{sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: s.TSAURL})}
	}
	made, err := sign.Bundle(&sign.DSSEData{Data: statement, PayloadType: "application/vnd.in-toto+json"}, key, o)
	if err != nil {
		return none, err
	}
	for _, e := range made.GetVerificationMaterial().GetTlogEntries() {
		b := s.behaviour()
		if b.WithoutProof {
			e.InclusionProof = nil
		}
		if b.WithoutPromise {
			e.InclusionPromise = nil
		}
	}
	text, err := protojson.Marshal(made)
	if err != nil {
		return none, err
	}
	return registry.Attachment{
		ArtifactType: made.GetMediaType(),
		Annotations: map[string]string{
			"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": predicate,
		},
		Files: []registry.AttachedFile{file(made.GetMediaType(), text, nil)},
	}, nil
}

func file(mediaType string, data []byte, annotations map[string]string) registry.AttachedFile {
	return registry.AttachedFile{
		Descriptor: ocispec.Descriptor{
			MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data)), Annotations: annotations,
		},
		Data: data,
	}
}
