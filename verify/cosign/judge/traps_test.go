package judge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/krmcat/krmcat/registry"
)

// These are traps of ADR 0012 that two checks prevent, so that the loss of one is not seen from
// outside. Each test is for one of these checks.

const trapped = digest.Digest("sha256:1c3b7feca2f3839da798446a6ff1a8c327adbeaea0a8b8c18e5f3a9920325645")

// goldenPiece returns a signature in testdata, not decoded.
func goldenPiece(t *testing.T, name string) piece {
	t.Helper()
	read := func(file string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(read("manifest.json"), &m); err != nil {
		t.Fatal(err)
	}
	form := FormBundle
	if strings.HasPrefix(name, "v2-") {
		form = FormLegacy
	}
	return piece{form: form, file: registry.AttachedFile{Descriptor: m.Layers[0], Data: read("layer.json")}}
}

func judgeByKey(t *testing.T, key string) *judge {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", key+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := build(Demand{Keys: []Key{{Name: key, PEM: data}}, InsecureIgnoreTlog: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestCosignComparesTheDigest calls cosign without krmcat's own check of the payload.
func TestCosignComparesTheDigest(t *testing.T) {
	t.Parallel()
	j := judgeByKey(t, "cosign")
	s, err := readSimple(goldenPiece(t, "v2-cosign"))
	if err != nil {
		t.Fatal(err)
	}
	for of, says := range map[digest.Digest]string{trapped: "", digest.FromString("another"): "invalid or missing digest in claim"} {
		opts, f := j.checkOpts(), &finding{}
		if _, err := j.legacySigner(s, opts, f); err != nil {
			t.Fatal(err)
		}
		err := j.checkSimple(t.Context(), of, s, opts, f)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("of %s: %v, want %q", of, err, says)
		}
	}
}

// TestCosignIsAskedForEverything checks the options for cosign: it may not use the network, and may
// skip only checks that the demand disables.
func TestCosignIsAskedForEverything(t *testing.T) {
	t.Parallel()
	j := judgeByKey(t, "cosign")
	j.demand = Demand{Annotations: map[string]string{"env": "prod"}}
	got := j.checkOpts()
	if got.ClaimVerifier == nil || reflect.ValueOf(got.ClaimVerifier).Pointer() != reflect.ValueOf(cosign.SimpleClaimVerifier).Pointer() {
		t.Error("the digest is not compared")
	}
	got.ClaimVerifier = nil // not compared
	if want := (&cosign.CheckOpts{Offline: true, Annotations: map[string]any{"env": "prod"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPanicIsNoYes checks that a panic of a library is a refusal, in both forms. A key without a
// verifier causes the panic.
func TestPanicIsNoYes(t *testing.T) {
	t.Parallel()
	j := judgeByKey(t, "cosign")
	good := j.keys
	for _, name := range []string{"v2-cosign", "v3-cosign"} {
		p := goldenPiece(t, name)
		j.keys = []*trustedKey{nil}
		if f := j.one(t.Context(), trapped, p); f.Verified || f.Logged || f.signer != nil || f.Reason != "it is malformed" || f.Signer != "" {
			t.Errorf("%s: %+v", name, f)
		}
		j.keys = good
		if f := j.one(t.Context(), trapped, p); !f.Verified {
			t.Errorf("%s does not count without a panic: %+v", name, f)
		}
	}
}

// TestBundleHasNoVersion checks that the version is removed from bundles: sigstore-go checks less
// in old versions, and prints while it tries P-384 twice.
func TestBundleHasNoVersion(t *testing.T) {
	t.Parallel()
	j := judgeByKey(t, "cosign")
	for _, name := range []string{"v3-cosign", "v3-p384", "v3-keyless"} {
		s, err := readBundle(goldenPiece(t, name))
		if err != nil {
			t.Fatal(err)
		}
		e, err := j.entity(s)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := e.Version(); v != "" || err != nil {
			t.Errorf("%s is of version %q, %v", name, v, err)
		}
		if b, err := bundle.NewBundle(s.proto); err != nil {
			t.Error(err)
		} else if v, err := b.Version(); v == "" || err != nil {
			t.Errorf("%s: there is no version to hide, %v", name, err)
		}
	}
}
