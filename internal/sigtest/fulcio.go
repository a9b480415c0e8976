package sigtest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// tokenLife is how long a token is valid.
const tokenLife = time.Hour

// claims are the claims of a token.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Email    string `json:"email,omitempty"`
	Verified bool   `json:"email_verified,omitempty"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// Token returns an OIDC token, a JWT, that the certificate authority accepts for an identity.
func (s *Sigstore) Token(who Identity) string {
	s.t.Helper()
	now := time.Now()
	c := claims{
		Issuer: who.Issuer, Subject: who.Subject, Audience: "sigstore",
		IssuedAt: now.Unix(), Expires: now.Add(tokenLife).Unix(),
	}
	if who.email() {
		c.Email, c.Verified = who.Subject, true
	}
	body, err := json.Marshal(c)
	if err != nil {
		s.t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","typ":"JWT"}`)) +
		"." + base64.RawURLEncoding.EncodeToString(body)
	hash := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.tokenKey, hash[:])
	if err != nil {
		s.t.Fatal(err)
	}
	sig := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig)
}

// identify returns the identity of a token, if this sigstore issued the token.
func (s *Sigstore) identify(header http.Header) (Identity, error) {
	var none Identity
	token, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !ok {
		return none, errors.New("there is no bearer token")
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return none, errors.New("there was an error processing the identity token")
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		return none, errors.New("the identity token has no signature")
	}
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, v := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
	if !ecdsa.Verify(&s.tokenKey.PublicKey, hash[:], r, v) {
		return none, errors.New("the identity token is of no issuer that is known")
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return none, err
	}
	var c claims
	if err := json.Unmarshal(body, &c); err != nil {
		return none, err
	}
	return Identity{Subject: c.Subject, Issuer: c.Issuer}, nil
}

// certify issues a certificate for a key to a client with a token and a proof of possession of the
// key. It returns the chain in PEM, the certificate first.
func (s *Sigstore) certify(r *request, publicKey, proof []byte) ([]string, error) {
	who, err := s.identify(r.header)
	if err != nil {
		return nil, err
	}
	key, err := cryptoutils.UnmarshalPEMToPublicKey(publicKey)
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	verifier, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	if err := verifier.VerifySignature(bytes.NewReader(proof), strings.NewReader(who.Subject)); err != nil {
		return nil, fmt.Errorf("the proof of possession: %w", err)
	}
	b := s.behaviour()
	from := s.from(b)
	leaf, err := from.issue(who, key, b)
	if err != nil {
		return nil, err
	}
	return []string{
		string(certificatePEM(leaf)), string(certificatePEM(from.intermediate.Raw)), string(certificatePEM(from.root.Raw)),
	}, nil
}

// from returns the authority that issues certificates.
func (s *Sigstore) from(b Behaviour) *authority {
	if b.Impostor {
		return s.impostor
	}
	return s.authority
}

// signingCertV2 is the v2 interface of Fulcio, which sigstore-go and cosign v3 use.
func (s *Sigstore) signingCertV2(_ context.Context, w http.ResponseWriter, r *request) error {
	var asked struct {
		PublicKeyRequest struct {
			PublicKey         struct{ Content string }
			ProofOfPossession []byte
		}
	}
	if err := json.Unmarshal(r.body, &asked); err != nil {
		return err
	}
	chain, err := s.certify(r, []byte(asked.PublicKeyRequest.PublicKey.Content), asked.PublicKeyRequest.ProofOfPossession)
	if err != nil {
		return err
	}
	respond(w, http.StatusOK, map[string]any{
		"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}},
	})
	return nil
}

// signingCertV1 is the v1 interface of Fulcio, which cosign v2 uses.
func (s *Sigstore) signingCertV1(_ context.Context, w http.ResponseWriter, r *request) error {
	var asked struct {
		PublicKey          struct{ Content []byte }
		SignedEmailAddress []byte
	}
	if err := json.Unmarshal(r.body, &asked); err != nil {
		return err
	}
	chain, err := s.certify(r, asked.PublicKey.Content, asked.SignedEmailAddress)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/pem-certificate-chain")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(strings.Join(chain, ""))) // a client that does not read the answer has gone
	return nil
}

func (s *Sigstore) rootCert(_ context.Context, w http.ResponseWriter, _ *request) error {
	_, err := w.Write(s.authority.chainPEM())
	return err
}
