package judge

import (
	"fmt"

	"github.com/krmcat/krmcat/verify/cosign"
)

// Types of package cosign.
type (
	// Claim is the content of a signature.
	Claim = cosign.Claim
	// Demand is the requirement of one rule on signatures.
	Demand = cosign.Demand
	// DemandError reports an invalid Demand.
	DemandError = cosign.DemandError
	// Form is how a signature is stored.
	Form = cosign.Form
	// Identity is a trusted identity of a certificate, with its issuer.
	Identity = cosign.Identity
	// Key is a trusted public key.
	Key = cosign.Key
	// KeyTypeError reports a private key that is not in cosign's format.
	KeyTypeError = cosign.KeyTypeError
	// KeylessOptions are the identity and the services for signing without a key.
	KeylessOptions = cosign.KeylessOptions
	// RefusedError reports that a service responded with a refusal.
	RefusedError = cosign.RefusedError
	// Signer makes signatures.
	Signer = cosign.Signer
)

// Constants of package cosign.
const (
	FormBundle = cosign.FormBundle
	FormLegacy = cosign.FormLegacy

	bundleType          = cosign.BundleType
	predicateType       = cosign.PredicateType
	predicateAnnotation = cosign.PredicateAnnotation
	regExp              = cosign.RegExp
)

func checkForm(f Form) error {
	switch f {
	case FormBundle, FormLegacy:
		return nil
	}
	return fmt.Errorf("%q is not a form of a signature: want %s or %s", clean(string(f), maxWords), FormBundle, FormLegacy)
}
