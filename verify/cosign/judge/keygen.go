package judge

import (
	"fmt"
	"strings"

	cosignv2 "github.com/sigstore/cosign/v2/pkg/cosign"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/krmcat/krmcat/verify/cosign"
)

// generateKey returns a key pair: see cosign.Method.GenerateKey.
func generateKey(kind string, password []byte) (private, public []byte, err error) {
	var details protocommon.PublicKeyDetails
	switch kind {
	case "", "ecdsa-p256":
		details = protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
	case "ed25519":
		details = protocommon.PublicKeyDetails_PKIX_ED25519
	case "rsa-2048":
		details = protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_2048_SHA256
	case "rsa-3072":
		details = protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_3072_SHA256
	case "rsa-4096":
		details = protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_4096_SHA256
	default:
		return nil, nil, fmt.Errorf("%q is not a kind of key: want %s", clean(kind, maxWords), strings.Join(cosign.Kinds(), ", "))
	}
	algorithm, err := signature.GetAlgorithmDetails(details)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	keys, err := cosignv2.GenerateKeyPairWithAlgorithm(&algorithm, func(bool) ([]byte, error) { return password, nil })
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	return keys.PrivateBytes, keys.PublicBytes, nil
}
