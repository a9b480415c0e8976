package cosign

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
)

// Form is how a signature is stored next to what it signs.
type Form string

// The forms in use.
const (
	FormBundle Form = "bundle" // a sigstore bundle, as a referrer: the default of cosign v3
	FormLegacy Form = "legacy" // cosign's sha256-HEX.sig tag: the default of cosign v2
)

// What signatures are called, and where they are.
const (
	BundleType    = "application/vnd.dev.sigstore.bundle" // and a version
	PredicateType = "https://sigstore.dev/cosign/sign/v1" // what makes a statement a signature
	// PredicateAnnotation is where a manifest repeats the predicate type. It proves nothing.
	PredicateAnnotation = "dev.sigstore.bundle.predicateType"
)

// LegacyTag is where the signatures of a digest are in the legacy form.
func LegacyTag(d digest.Digest) string {
	return d.Algorithm().String() + "-" + d.Encoded() + ".sig"
}

// Claim is what a signature says.
type Claim struct {
	Digest      digest.Digest     // of the manifest that is signed: sha256
	Reference   string            // where it is, for people: HOST/REPO without a tag, "" for a layout; only the legacy form keeps it
	Annotations map[string]string // what the signer says about it; nil for nothing
}

// Signer makes signatures: a key, or an identity that a certificate is issued for.
type Signer interface {
	// Sign returns what is to be attached to the manifest of the claim, one attachment for
	// each form.
	Sign(ctx context.Context, c Claim) ([]registry.Attachment, error)
}

// Kinds are the kinds of keys that GenerateKey makes. The first is the default.
func Kinds() []string {
	return []string{"ecdsa-p256", "ed25519", "rsa-2048", "rsa-3072", "rsa-4096"}
}
