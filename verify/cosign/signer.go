package cosign

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
)

// Form is how a signature is stored.
type Form string

// The forms.
const (
	FormBundle Form = "bundle" // a sigstore bundle, as a referrer: the default of cosign v3
	FormLegacy Form = "legacy" // cosign's sha256-HEX.sig tag: the default of cosign v2
)

// Types and annotations of signatures.
const (
	BundleType    = "application/vnd.dev.sigstore.bundle" // followed by a version
	PredicateType = "https://sigstore.dev/cosign/sign/v1" // of a statement that is a signature
	// PredicateAnnotation is the annotation with the predicate type, which is not verified.
	PredicateAnnotation = "dev.sigstore.bundle.predicateType"
)

// LegacyTag returns the tag of signatures of a digest in the legacy form.
func LegacyTag(d digest.Digest) string {
	return d.Algorithm().String() + "-" + d.Encoded() + ".sig"
}

// Claim is the content of a signature.
type Claim struct {
	Digest      digest.Digest     // of the signed manifest: sha256
	Reference   string            // its place, for information: HOST/REPO without a tag, "" for a layout; only in the legacy form
	Annotations map[string]string // of the signature; nil for none
}

// Signer makes signatures: with a key, or with an identity and a certificate.
type Signer interface {
	// Sign returns the attachments of the claim's manifest, one for each form.
	Sign(ctx context.Context, c Claim) ([]registry.Attachment, error)
}

// Kinds returns the kinds of keys that GenerateKey supports. The first is the default.
func Kinds() []string {
	return []string{"ecdsa-p256", "ed25519", "rsa-2048", "rsa-3072", "rsa-4096"}
}
