package cosign_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/verify/cosign"
)

var _ cosign.Signer = (*cosign.KeySigner)(nil)

// TestSign signs with each type of key and verifies the signature.
func TestSign(t *testing.T) {
	t.Parallel()
	for _, kind := range append([]string{""}, cosign.Kinds()...) {
		if kind == "rsa-4096" {
			continue // takes seconds to make
		}
		t.Run("kind "+kind, func(t *testing.T) {
			t.Parallel()
			private, public, err := local().GenerateKey(kind, []byte("secret"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := local().LoadSigner(private, []byte("wrong")); !errors.Is(err, cosign.ErrPassword) {
				t.Errorf("a wrong password: %v", err)
			}
			s, err := local().LoadSigner(private, []byte("secret"), cosign.FormLegacy, cosign.FormBundle)
			if err != nil {
				t.Fatal(err)
			}
			if string(s.PublicKey()) != string(public) {
				t.Errorf("its public key is %s, want %s", s.PublicKey(), public)
			}
			made, err := s.Sign(context.Background(), cosign.Claim{
				Digest: subject, Reference: "example.com/catalog", Annotations: map[string]string{"env": "prod"},
			})
			if err != nil || len(made) != 2 {
				t.Fatalf("%d attachments, %v", len(made), err)
			}
			if made[0].Tag != tag(subject) || made[1].Tag != "" || made[1].ArtifactType != "application/vnd.dev.sigstore.bundle.v0.3+json" {
				t.Errorf("they go to %q and %q %q", made[0].Tag, made[1].Tag, made[1].ArtifactType)
			}
			d := cosign.Demand{
				Keys: []cosign.Key{{Name: "k", PEM: public}}, InsecureIgnoreTlog: true,
				Annotations: map[string]string{"env": "prod"},
			}
			for i, form := range []string{"legacy", "bundle"} {
				if got := accepted(t, judge(t, build(t, d), subject, made[i])); got.Form != form || got.Signer != "k" {
					t.Errorf("%+v", got)
				}
				if f := made[i].Files[0]; f.Digest != digest.FromBytes(f.Data) || f.Size != int64(len(f.Data)) {
					t.Errorf("the layer is described as %+v", f.Descriptor)
				}
			}
		})
	}
}

// TestPayloadOfCosign compares the signed payload with that of cosign, byte by byte in the legacy
// form.
func TestPayloadOfCosign(t *testing.T) {
	t.Parallel()
	s, err := local().LoadSigner(read(t, "cosign.key"), []byte("pw"), cosign.FormLegacy)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Sign(context.Background(), cosign.Claim{
		Digest: subject, Reference: "127.0.0.1:5055/g/n2-cosign", Annotations: map[string]string{"env": "prod"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(made[0].Files[0].Data), string(read(t, "v2-cosign", "layer.json")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSignErrors(t *testing.T) {
	t.Parallel()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	plain := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for want, key := range map[string][]byte{
		"it contains PRIVATE KEY,":  plain,
		"it is a public key":        read(t, "cosign.pub"),
		"not a private key in PEM":  []byte("x"),
		"the private key cannot be": pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED COSIGN PRIVATE KEY", Bytes: []byte("{}")}),
		"want a private key":        pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	} {
		if _, err := local().LoadSigner(key, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for kind, encrypted := range map[string]bool{
		"PRIVATE KEY": false, "EC PRIVATE KEY": false, "RSA PRIVATE KEY": false,
		"ENCRYPTED PRIVATE KEY": true, "OPENSSH PRIVATE KEY": true, "EC PARAMETERS": true,
	} {
		var e *cosign.KeyTypeError
		_, err := local().LoadSigner(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), nil)
		if !errors.As(err, &e) || e.Type != kind || e.Encrypted != encrypted {
			t.Errorf("%s: %v", kind, err)
		}
	}
	good := read(t, "cosign.key")
	for want, forms := range map[string][]cosign.Form{
		"not a form of a signature": {"both"},
		"twice":                     {cosign.FormBundle, cosign.FormBundle},
	} {
		if _, err := local().LoadSigner(good, []byte("pw"), forms...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s, err := local().LoadSigner(good, []byte("pw"), cosign.FormLegacy)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]cosign.Claim{
		"its reference has":  {Digest: subject, Reference: strings.Repeat("a", 5000)},
		"is not a reference": {Digest: subject, Reference: "a\nb"},
		`"a\u202eb" is no`:   {Digest: subject, Reference: "a\u202eb"},
		"sha256 only":        {Digest: digest.SHA512.FromString("x"), Reference: "a"},
		"invalid checksum":   {Digest: "x", Reference: "a"},
		"has no name":        {Digest: subject, Reference: "a", Annotations: map[string]string{"": "x"}},
	} {
		if _, err := s.Sign(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, _, err := local().GenerateKey("dsa", nil); err == nil || !strings.Contains(err.Error(), "want ecdsa-p256, ed25519") {
		t.Errorf("got %v", err)
	}
}
