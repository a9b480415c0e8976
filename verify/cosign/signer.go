package cosign

import (
	"context"
	"fmt"

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

func (f Form) check() error {
	switch f {
	case FormBundle, FormLegacy:
		return nil
	}
	return fmt.Errorf("%q is no form of a signature: want %s or %s", clean(string(f), maxWords), FormBundle, FormLegacy)
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
