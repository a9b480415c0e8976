package judge

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/krmcat/krmcat/internal/failure"
)

const (
	minRSA = 2048 // bits: the minimum of NIST SP 800-131A
	maxRSA = 8192 // bits: the signer must not choose the time that verifying takes
)

// trustedKey is a public key with all signature algorithms that cosign uses for it.
type trustedKey struct {
	name     string
	digest   string // sha256:HEX of the key in DER
	verifier *anyVerifier
}

// short returns the beginning of the digest, for messages.
func (k *trustedKey) short() string { return short(k.digest) }

func short(digest string) string { return digest[:len("sha256:")+12] + "…" }

// String returns the name, and the beginning of the digest if it differs.
func (k *trustedKey) String() string {
	if k.name == k.short() {
		return k.name
	}
	return k.name + " (" + k.short() + ")"
}

func parseKey(k Key) (*trustedKey, error) {
	pub, err := parsePublicKey(k.PEM)
	if err != nil {
		return nil, err
	}
	v, err := newVerifier(pub)
	if err != nil {
		return nil, err
	}
	d, err := keyDigest(pub)
	if err != nil {
		return nil, err
	}
	out := &trustedKey{name: clean(k.Name, maxWords), digest: d, verifier: v}
	switch {
	case out.name != "":
	case k.Path != "":
		out.name = clean(path.Base(filepath.ToSlash(k.Path)), maxWords)
	default:
		out.name = out.short()
	}
	return out, nil
}

// parsePublicKey reads exactly one public key.
func parsePublicKey(data []byte) (crypto.PublicKey, error) {
	if len(data) > maxPEM {
		return nil, failure.Untrusted.Mark(fmt.Errorf("it has %d bytes, a public key has at most %d", len(data), maxPEM))
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it is not a public key in PEM format")
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("it contains more than one key: list each on its own")
	}
	switch {
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return nil, failure.Usage.Mark(errors.New("it is a private key, give the public one"))
	case block.Type == "RSA PUBLIC KEY":
		pub, err := x509.ParsePKCS1PublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("it is not a public key: " + clean(err.Error(), maxWords))
		}
		return pub, nil
	case block.Type != "PUBLIC KEY":
		return nil, fmt.Errorf("it is a %s, want a PUBLIC KEY", clean(block.Type, maxWords))
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it is not a public key: " + clean(err.Error(), maxWords))
	}
	return pub, nil
}

// keyDigest returns sha256:HEX of the key's SubjectPublicKeyInfo in DER.
func keyDigest(pub crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return "", fmt.Errorf("encoding the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// anyVerifier accepts a signature in any of the algorithms in which cosign's versions sign with one
// kind of key. They differ: cosign verifies with SHA-256, but signs with the hash that fits the
// curve, and with Ed25519ph.
type anyVerifier struct {
	pub crypto.PublicKey
	all []signature.Verifier
}

func newVerifier(pub crypto.PublicKey) (*anyVerifier, error) {
	v := &anyVerifier{pub: pub}
	var err error
	add := func(one signature.Verifier, e error) {
		v.all, err = append(v.all, one), errors.Join(err, e)
	}
	switch k := pub.(type) {
	case *ecdsa.PublicKey:
		add(signature.LoadECDSAVerifier(k, crypto.SHA256))
		switch k.Curve {
		case elliptic.P256():
		case elliptic.P384():
			add(signature.LoadECDSAVerifier(k, crypto.SHA384))
		case elliptic.P521():
			add(signature.LoadECDSAVerifier(k, crypto.SHA512))
		default:
			return nil, fmt.Errorf("it is an ECDSA key of curve %s, want P-256, P-384 or P-521", k.Curve.Params().Name)
		}
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return nil, failure.Untrusted.Mark(fmt.Errorf("it is an RSA key of %d bits, want %d to %d", n, minRSA, maxRSA))
		}
		add(signature.LoadRSAPKCS1v15Verifier(k, crypto.SHA256))
	case ed25519.PublicKey:
		add(signature.LoadED25519Verifier(k))
		add(signature.LoadED25519phVerifier(k))
	default:
		return nil, errors.New("this kind of key is not supported: want ECDSA, RSA or Ed25519")
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// PublicKey implements signature.Verifier.
func (v *anyVerifier) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return v.pub, nil
}

// VerifySignature implements signature.Verifier.
func (v *anyVerifier) VerifySignature(sig, message io.Reader, opts ...signature.VerifyOption) error {
	s, err := io.ReadAll(sig)
	if err != nil {
		return err
	}
	m, err := io.ReadAll(message)
	if err != nil {
		return err
	}
	for _, one := range v.all {
		if err = one.VerifySignature(bytes.NewReader(s), bytes.NewReader(m), opts...); err == nil {
			return nil
		}
	}
	return err
}

// fits reports whether the key made a signature of a message.
func (v *anyVerifier) fits(sig, message []byte) bool {
	return v.VerifySignature(bytes.NewReader(sig), bytes.NewReader(message)) == nil
}
