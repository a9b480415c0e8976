package judge

import (
	"fmt"

	"github.com/krmcat/krmcat/verify/cosign"
)

// What package cosign, which asks, calls what is asked about.
type (
	// Claim is what a signature says.
	Claim = cosign.Claim
	// Demand is what one rule asks of signatures.
	Demand = cosign.Demand
	// DemandError says that nothing can be judged by a demand.
	DemandError = cosign.DemandError
	// Form is how a signature is stored next to what it signs.
	Form = cosign.Form
	// Identity is whom a certificate has to be for, and by whose word.
	Identity = cosign.Identity
	// Key is a public key that is trusted.
	Key = cosign.Key
	// KeyTypeError says that a private key is in PEM, and not as cosign keeps its keys.
	KeyTypeError = cosign.KeyTypeError
	// KeylessOptions say as whom to sign without a key, and who attests it.
	KeylessOptions = cosign.KeylessOptions
	// RefusedError says that a service answered, and that the answer was no.
	RefusedError = cosign.RefusedError
	// Signer makes signatures.
	Signer = cosign.Signer
)

// Its constants.
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
