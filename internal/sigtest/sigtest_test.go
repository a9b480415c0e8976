package sigtest_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"github.com/sigstore/cosign/v2/pkg/cosign"
	cosignbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/krmcat/krmcat/internal/sigtest"
)

func alice() sigtest.Identity {
	return sigtest.Identity{Subject: "alice@example.com", Issuer: "https://issuer.example.com"}
}

func robot() sigtest.Identity {
	return sigtest.Identity{
		Subject: "https://ci.example.com/team/repo/build.yaml@refs/heads/main", Issuer: "https://token.ci.example.com",
	}
}

// subject returns the digest that is signed.
func subject() digest.Digest { return digest.FromString("a manifest") }

// TestSignaturesVerify verifies the signatures with sigstore's own verifiers and every
// requirement.
func TestSignaturesVerify(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, c := range map[string]struct {
		does           sigtest.Behaviour
		who            sigtest.Identity
		stamped        bool
		bundle, legacy string // part of the reason for a refusal, "" if the signature is valid
	}{
		"e-mail":           {who: alice()},
		"URI":              {who: robot()},
		"with a timestamp": {who: alice(), stamped: true},
		"long ago": {
			who:  alice(),
			does: sigtest.Behaviour{CertificateAge: 60 * minute, LogAge: 55 * minute},
		},
		"logged after the certificate ended": {
			who: alice(), does: sigtest.Behaviour{CertificateAge: 60 * minute},
			bundle: "integrated time outside certificate validity", legacy: "certificate expired before",
		},
		"logged before the certificate began": {
			who: alice(), does: sigtest.Behaviour{LogAge: 60 * minute},
			bundle: "integrated time outside certificate validity", legacy: "certificate was issued after",
		},
		"no promise of the certificate's log": {
			who: alice(), does: sigtest.Behaviour{WithoutSCT: true},
			bundle: "unable to meet threshold of 1", legacy: "does not include required embedded SCT",
		},
		"another authority with the same names": {
			who: alice(), does: sigtest.Behaviour{Impostor: true},
			bundle: "leaf certificate verification failed", legacy: "leaf certificate verification failed",
		},
		// The legacy form stores no proof, so its verification needs none.
		"no inclusion proof": {
			who: alice(), does: sigtest.Behaviour{WithoutProof: true}, bundle: "inclusion proof",
		},
		"no signed entry timestamp": {
			who: alice(), does: sigtest.Behaviour{WithoutPromise: true},
			bundle: "integrated timestamps: 0 < 1", legacy: "unable to verify SET",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(c.does)
			claim := sigtest.Claim{Who: c.who, Digest: subject(), Reference: "registry.example.com/a", Timestamp: c.stamped}
			want(t, "bundle", judgeBundle(t, s, claim), c.bundle)
			want(t, "legacy", judgeLegacy(t, s, claim), c.legacy)
		})
	}
}

func want(t *testing.T, form string, err error, reason string) {
	t.Helper()
	switch {
	case reason == "" && err != nil:
		t.Errorf("%s: %v", form, err)
	case reason != "" && err == nil:
		t.Errorf("%s is valid, want a refusal: %s", form, reason)
	case reason != "" && !strings.Contains(err.Error(), reason):
		t.Errorf("%s: %v, want %q", form, err, reason)
	}
}

// judgeBundle makes a bundle and verifies it with every requirement: a certificate in its log, an
// entry in the log, and a time.
func judgeBundle(t *testing.T, s *sigtest.Sigstore, c sigtest.Claim) error {
	t.Helper()
	verifier, err := verify.NewVerifier(material(t, s), verify.WithSignedCertificateTimestamps(1),
		verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
	if err != nil {
		t.Fatal(err)
	}
	var b bundle.Bundle
	if err := b.UnmarshalJSON(s.Bundle(c).Files[0].Data); err != nil {
		return err
	}
	identity, err := verify.NewShortCertificateIdentity(c.Who.Issuer, "", c.Who.Subject, "")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(c.Digest.Encoded())
	if err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(&b, verify.NewPolicy(verify.WithArtifactDigest("sha256", raw), verify.WithCertificateIdentity(identity)))
	return err
}

// judgeLegacy does the same for the legacy form.
func judgeLegacy(t *testing.T, s *sigtest.Sigstore, c sigtest.Claim) error {
	t.Helper()
	layer := s.Legacy(c).Files[0]
	a := layer.Annotations
	var logged cosignbundle.RekorBundle
	if err := json.Unmarshal([]byte(a["dev.sigstore.cosign/bundle"]), &logged); err != nil {
		t.Fatal(err)
	}
	options := []static.Option{
		static.WithCertChain([]byte(a["dev.sigstore.cosign/certificate"]), []byte(a["dev.sigstore.cosign/chain"])),
		static.WithBundle(&logged),
	}
	if stamp := a["dev.sigstore.cosign/rfc3161timestamp"]; stamp != "" {
		var kept cosignbundle.RFC3161Timestamp
		if err := json.Unmarshal([]byte(stamp), &kept); err != nil {
			t.Fatal(err)
		}
		options = append(options, static.WithRFC3161Timestamp(&kept))
	}
	sig, err := static.NewSignature(layer.Data, a["dev.cosignproject.cosign/signature"], options...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cosign.VerifyImageSignature(t.Context(), sig, v1.Hash{Algorithm: "sha256", Hex: c.Digest.Encoded()},
		&cosign.CheckOpts{
			TrustedMaterial: material(t, s), Offline: true, ClaimVerifier: cosign.SimpleClaimVerifier,
			Identities:          []cosign.Identity{{Issuer: c.Who.Issuer, Subject: c.Who.Subject}},
			UseSignedTimestamps: c.Timestamp,
		})
	return err
}

func material(t *testing.T, s *sigtest.Sigstore) root.TrustedMaterial {
	t.Helper()
	m, err := root.NewTrustedRootFromJSON(s.TrustedRoot())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAttestationIsNoSignature(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	made := s.Bundle(sigtest.Claim{Who: alice(), Digest: subject(), PredicateType: "https://slsa.dev/provenance/v1"})
	var b bundle.Bundle
	if err := b.UnmarshalJSON(made.Files[0].Data); err != nil {
		t.Fatal(err)
	}
	envelope, err := b.Envelope()
	if err != nil {
		t.Fatal(err)
	}
	statement, err := envelope.Statement()
	if err != nil {
		t.Fatal(err)
	}
	if got := statement.GetPredicateType(); got != "https://slsa.dev/provenance/v1" {
		t.Errorf("predicate type %q", got)
	}
}

// TestAuthorityRefuses checks that Fulcio issues a certificate only to a client with a token and
// the key.
func TestAuthorityRefuses(t *testing.T) {
	t.Parallel()
	s, other := sigtest.New(t), sigtest.New(t)
	token := s.Token(alice())
	body := strings.Split(token, ".")[1]
	for name, c := range map[string]struct{ token, says string }{
		"no token":                  {"", "bearer token"},
		"garbage":                   {"abc", "processing the identity token"},
		"a token of another issuer": {other.Token(alice()), "no issuer that is known"},
		"an unsigned token":         {"e30." + body + ".", "no signature"},
		"another subject":           {changed(t, token), "no issuer that is known"},
		"no key, but a token":       {token, "public key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/api/v1/signingCert", "/api/v2/signingCert"} {
				status, text := post(t, s.FulcioURL+path, c.token, "{}")
				if status != http.StatusBadRequest || !strings.Contains(text, c.says) {
					t.Errorf("%s: %d %s, want %q", path, status, text, c.says)
				}
			}
		})
	}
}

// changed returns a token with another subject, and the old signature.
func changed(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(string(body), "alice", "mallory")))
	return strings.Join(parts, ".")
}

func post(t *testing.T, url, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	no := sigtest.Refusal{Status: http.StatusTeapot, Message: "not today"}
	s.Behave(sigtest.Behaviour{Fulcio: no, Rekor: no, TSA: no})
	for _, url := range []string{s.FulcioURL + "/api/v2/signingCert", s.RekorURL + "/api/v1/log/entries", s.TSAURL} {
		if status, text := post(t, url, "", "{}"); status != http.StatusTeapot || !strings.Contains(text, "not today") {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
	s.Behave(sigtest.Behaviour{})
	for _, url := range []string{s.FulcioURL + "/api/v2/signingCert", s.RekorURL + "/api/v1/log/entries", s.TSAURL} {
		if status, _ := post(t, url, "", "{}"); status != http.StatusBadRequest {
			t.Errorf("%s: status %d for an empty request", url, status)
		}
	}
}
