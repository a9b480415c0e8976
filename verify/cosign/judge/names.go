package judge

import (
	"fmt"

	"github.com/krmcat/krmcat/verify/cosign"
)

// What package cosign, which asks, calls what is asked about.
type (
	Claim          = cosign.Claim
	Demand         = cosign.Demand
	Form           = cosign.Form
	Identity       = cosign.Identity
	Key            = cosign.Key
	KeyTypeError   = cosign.KeyTypeError
	KeylessOptions = cosign.KeylessOptions
	RefusedError   = cosign.RefusedError
	Signer         = cosign.Signer
)

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
	return fmt.Errorf("%q is no form of a signature: want %s or %s", clean(string(f), maxWords), FormBundle, FormLegacy)
}
