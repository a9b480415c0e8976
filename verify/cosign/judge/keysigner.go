package judge

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	cosignv2 "github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// keyType returns a *KeyTypeError for a PEM block in place of a private key. cosign imports
// unencrypted keys only, and no file that begins with the parameters of a curve.
func keyType(block *pem.Block) error {
	_, traditional := block.Headers["DEK-Info"]
	plain := block.Type == "PRIVATE KEY" || block.Type == "RSA PRIVATE KEY" || block.Type == "EC PRIVATE KEY"
	return &KeyTypeError{Type: clean(block.Type, maxWords), Encrypted: traditional || !plain}
}

// keySigner signs with a private key.
type keySigner struct {
	signer signature.Signer
	public []byte // PEM
	hint   string
	forms  []Form
}

// loadSigner returns a signer with a private key: see cosign.Method.LoadSigner.
func loadSigner(key, password []byte, forms ...Form) (*keySigner, error) {
	if len(forms) == 0 {
		forms = []Form{FormBundle}
	}
	for i, f := range forms {
		if err := checkForm(f); err != nil {
			return nil, err
		}
		if slices.Contains(forms[:i], f) {
			return nil, fmt.Errorf("the form %s is asked for twice", f)
		}
	}
	private, err := decrypt(key, password)
	if err != nil {
		return nil, err
	}
	s := &keySigner{forms: slices.Clone(forms)}
	if s.signer, err = newSigner(private); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	s.hint = base64.StdEncoding.EncodeToString(sum[:])
	s.public = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return s, nil
}

// PublicKey returns the public key in PEM (PUBLIC KEY).
func (s *keySigner) PublicKey() []byte { return bytes.Clone(s.public) }

// decrypt decrypts a private key.
func decrypt(data, password []byte) (crypto.Signer, error) {
	if len(data) > maxPEM {
		return nil, failure.Untrusted.Mark(fmt.Errorf("the private key has %d bytes, at most %d are read", len(data), maxPEM))
	}
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return nil, errors.New("it is not a private key in PEM format")
	case block.Type == cosignv2.CosignPrivateKeyPemType, block.Type == cosignv2.SigstorePrivateKeyPemType:
	case strings.HasSuffix(block.Type, "PRIVATE KEY"), block.Type == "EC PARAMETERS":
		return nil, keyType(block)
	case block.Type == "PUBLIC KEY":
		return nil, &KeyTypeError{Type: "PUBLIC KEY"}
	default:
		return nil, fmt.Errorf("it is a %s, want a private key", clean(block.Type, maxWords))
	}
	der, err := encrypted.Decrypt(block.Bytes, password)
	switch {
	case err != nil && sealed(block.Bytes):
		return nil, cosign.ErrPassword
	case err != nil:
		return nil, errors.New("the private key cannot be read: " + clean(err.Error(), maxWords))
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key cannot be read: " + clean(err.Error(), maxWords))
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("this kind of key cannot sign")
	}
	return signer, nil
}

// sealed reports whether an encrypted key has the expected format, so that only the password can be
// wrong, or a changed byte, which is indistinguishable. The library has no error of its own for
// that.
func sealed(data []byte) bool {
	var box struct {
		KDF struct {
			Name   string `json:"name"`
			Params struct {
				N int `json:"N"`
				R int `json:"r"`
				P int `json:"p"`
			} `json:"params"`
		} `json:"kdf"`
		Cipher struct {
			Name  string `json:"name"`
			Nonce []byte `json:"nonce"`
		} `json:"cipher"`
		Ciphertext []byte `json:"ciphertext"`
	}
	if json.Unmarshal(data, &box) != nil {
		return false
	}
	const nonce = 24 // bytes
	costs := []int{1 << 15, 1 << 16, 1 << 17}
	params := box.KDF.Params
	return box.KDF.Name == "scrypt" && slices.Contains(costs, params.N) && params.R == 8 && params.P == 1 &&
		box.Cipher.Name == "nacl/secretbox" && len(box.Cipher.Nonce) == nonce
}

// newSigner uses the algorithm that cosign's CLIs verify: SHA-256, and Ed25519 without a hash. They
// do not verify all of their own signatures: see anyVerifier.
func newSigner(private crypto.Signer) (signature.Signer, error) {
	if _, err := newVerifier(private.Public()); err != nil {
		return nil, err
	}
	switch k := private.(type) {
	case *ecdsa.PrivateKey:
		return signature.LoadECDSASigner(k, crypto.SHA256)
	case *rsa.PrivateKey:
		return signature.LoadRSAPKCS1v15Signer(k, crypto.SHA256)
	case ed25519.PrivateKey:
		return signature.LoadED25519Signer(k)
	}
	return nil, errors.New("this kind of key is not supported: want ECDSA, RSA or Ed25519")
}

// Sign implements Signer.
func (s *keySigner) Sign(_ context.Context, what Claim) ([]registry.Attachment, error) {
	c := claim{what}
	if err := c.check(); err != nil {
		return nil, err
	}
	var out []registry.Attachment
	for _, f := range s.forms {
		made := s.bundle
		if f == FormLegacy {
			made = s.legacy
		}
		a, err := made(c)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (s *keySigner) legacy(c claim) (registry.Attachment, error) {
	p, err := c.simplePayload()
	if err != nil {
		return registry.Attachment{}, err
	}
	sig, err := s.signer.SignMessage(bytes.NewReader(p))
	if err != nil {
		return registry.Attachment{}, fmt.Errorf("signing %s: %w", c.Digest, err)
	}
	return c.legacyAttachment(p, sig, nil), nil
}

// bundle does not use protojson, which inserts blanks at random.
func (s *keySigner) bundle(c claim) (registry.Attachment, error) {
	st, err := c.statement()
	if err != nil {
		return registry.Attachment{}, err
	}
	sig, err := s.signer.SignMessage(bytes.NewReader(dsse.PAE(statementType, st)))
	if err != nil {
		return registry.Attachment{}, fmt.Errorf("signing %s: %w", c.Digest, err)
	}
	type envelope struct {
		Payload     []byte              `json:"payload"`
		PayloadType string              `json:"payloadType"`
		Signatures  []map[string][]byte `json:"signatures"`
	}
	data, err := json.Marshal(struct {
		MediaType            string   `json:"mediaType"`
		VerificationMaterial any      `json:"verificationMaterial"`
		DSSEEnvelope         envelope `json:"dsseEnvelope"`
	}{
		bundleVersion,
		map[string]any{"publicKey": map[string]string{"hint": s.hint}},
		envelope{st, statementType, []map[string][]byte{{"sig": sig}}},
	})
	if err != nil {
		return registry.Attachment{}, fmt.Errorf("writing the bundle: %w", err)
	}
	return bundleAttachment(data), nil
}
