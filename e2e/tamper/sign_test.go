package tamper

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
)

// The media types and keys of signatures, as cosign defines them. The test signs without the code
// under test.
const (
	legacyLayer     = "application/vnd.dev.cosign.simplesigning.v1+json"
	bundleLayer     = "application/vnd.dev.sigstore.bundle.v0.3+json"
	signPredicate   = "https://sigstore.dev/cosign/sign/v1"
	slsaPredicate   = "https://slsa.dev/provenance/v1"
	predicateKey    = "dev.sigstore.bundle.predicateType"
	statementOfToto = "application/vnd.in-toto+json"
	signatureKey    = "dev.cosignproject.cosign/signature"
)

func asExit(err error, to **exec.ExitError) bool { return errors.As(err, to) }

// hand is a key that signs anything.
type hand struct {
	key *ecdsa.PrivateKey
	pem string // of the public key
}

func newHand(t *testing.T) hand {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return hand{key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
}

func (h hand) sign(message []byte) []byte {
	hash := sha256.Sum256(message)
	sig, err := ecdsa.SignASN1(rand.Reader, h.key, hash[:])
	if err != nil {
		panic(err) // the key and the source of randomness are valid
	}
	return sig
}

// said is the content of a signature.
type said struct {
	digest      digest.Digest
	annotations map[string]string
	predicate   string // of a bundle, "" for the predicate type of signatures
	kind        string // _type of a bundle's statement, "" for in-toto's
}

func (s said) payload() []byte {
	return marshal(map[string]any{
		"critical": map[string]any{
			"identity": map[string]any{"docker-reference": "registry.example.com/fns"},
			"image":    map[string]any{"docker-manifest-digest": s.digest.String()},
			"type":     "cosign container image signature",
		},
		"optional": s.annotations,
	})
}

func (s said) statement() []byte {
	return marshal(map[string]any{
		"_type": cmp.Or(s.kind, "https://in-toto.io/Statement/v1"), "predicateType": cmp.Or(s.predicate, signPredicate), "predicate": map[string]any{},
		"subject": []map[string]any{{
			"digest": map[string]string{"sha256": s.digest.Encoded()}, "annotations": maps.Clone(s.annotations),
		}},
	})
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings can always be encoded
	}
	return data
}

// legacy returns a signature as cosign v2 stores it under a tag.
func (h hand) legacy(s said) registry.Attachment {
	return legacyOf(s.payload(), map[string]string{signatureKey: base64.StdEncoding.EncodeToString(h.sign(s.payload()))})
}

func legacyOf(payload []byte, annotations map[string]string) registry.Attachment {
	return registry.Attachment{Tag: "sig", Files: []registry.AttachedFile{{
		Descriptor: ocispec.Descriptor{MediaType: legacyLayer, Annotations: annotations}, Data: payload,
	}}}
}

// bundle returns a signature as cosign v3 stores it as a referrer.
func (h hand) bundle(s said) registry.Attachment {
	return bundleOf(statementOfToto, s.statement(), h.sign(pae(statementOfToto, s.statement())))
}

func bundleOf(payloadType string, payload []byte, sigs ...[]byte) registry.Attachment {
	var list []map[string][]byte
	for _, sig := range sigs {
		list = append(list, map[string][]byte{"sig": sig})
	}
	return bundleText(marshal(map[string]any{
		"mediaType": bundleLayer, "verificationMaterial": map[string]any{"publicKey": map[string]string{"hint": "a key"}},
		"dsseEnvelope": map[string]any{"payload": payload, "payloadType": payloadType, "signatures": list},
	}))
}

func bundleText(text []byte) registry.Attachment {
	return registry.Attachment{
		ArtifactType: bundleLayer,
		Annotations:  map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", predicateKey: signPredicate},
		Files:        []registry.AttachedFile{{Descriptor: ocispec.Descriptor{MediaType: bundleLayer}, Data: text}},
	}
}

// pae returns the bytes that DSSE signs (pre-authentication encoding).
func pae(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// both returns a signature of a manifest in each of the two forms.
func (h hand) both(d ocispec.Descriptor) []registry.Attachment {
	return []registry.Attachment{h.legacy(said{digest: d.Digest}), h.bundle(said{digest: d.Digest})}
}

// attach attaches to a manifest, or to a descriptor that claims to be one.
func (w *world) attach(repo string, to ocispec.Descriptor, list ...registry.Attachment) {
	w.change(repo, func(r *repository) {
		for _, a := range list {
			attach(r, to, a)
		}
	})
}

func attach(r *repository, to ocispec.Descriptor, a registry.Attachment) ocispec.Descriptor {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: a.ArtifactType, Annotations: a.Annotations,
	}
	if a.Tag != "" { // keep those that exist
		if before, ok := r.Manifests[legacyTagOf(to)]; ok && json.Unmarshal(before.Data, &m) != nil {
			panic("the signature tag has no manifest")
		}
	}
	for _, f := range a.Files {
		d := r.Blob(f.MediaType, f.Data)
		d.Annotations = f.Annotations
		m.Layers = append(m.Layers, d)
	}
	if a.Tag != "" {
		m.Config = r.Blob(ocispec.MediaTypeImageConfig, []byte(`{"rootfs":{"type":"layers","diff_ids":[]}}`))
		return put(r, m.MediaType, m, legacyTagOf(to))
	}
	m.Config = r.Blob(ocispec.MediaTypeEmptyJSON, []byte("{}"))
	m.Subject = &ocispec.Descriptor{MediaType: to.MediaType, Digest: to.Digest, Size: to.Size}
	return put(r, m.MediaType, m)
}

func legacyTagOf(d ocispec.Descriptor) string { return "sha256-" + d.Digest.Encoded() + ".sig" }

// strip removes every signature of a manifest, or only those of the forms that are named.
func (w *world) strip(repo string, d ocispec.Descriptor, forms ...string) {
	w.change(repo, func(r *repository) {
		if len(forms) == 0 || slices.Contains(forms, "legacy") {
			delete(r.Manifests, legacyTagOf(d))
		}
		if len(forms) == 0 || slices.Contains(forms, "bundle") {
			for _, a := range r.Referrers(d.Digest) {
				delete(r.Manifests, a.Digest.String())
			}
			delete(r.Listed, d.Digest)
		}
	})
}
