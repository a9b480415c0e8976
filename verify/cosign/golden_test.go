package cosign_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// subject is the digest that the signatures in testdata sign.
const subject = digest.Digest("sha256:1c3b7feca2f3839da798446a6ff1a8c327adbeaea0a8b8c18e5f3a9920325645")

// another is a digest that nobody signed.
const another = digest.Digest("sha256:0000000000000000000000000000000000000000000000000000000000000000")

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden returns a signature in testdata, as registry returns it.
func golden(t testing.TB, name string) registry.Attachment {
	t.Helper()
	raw := read(t, name, "manifest.json")
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	a := registry.Attachment{
		Manifest:     ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))},
		ArtifactType: m.ArtifactType,
		Annotations:  m.Annotations,
	}
	if strings.HasPrefix(name, "v2-") {
		a.Tag = tag(subject)
	}
	data := read(t, name, "layer.json")
	if digest.FromBytes(data) != m.Layers[0].Digest {
		t.Fatalf("%s: the layer is not that of the manifest", name)
	}
	a.Files = []registry.AttachedFile{{Descriptor: m.Layers[0], Data: data}}
	return a
}

func tag(d digest.Digest) string { return "sha256-" + d.Encoded() + ".sig" }

// byKey returns a demand for keys.
func byKey(t testing.TB, names ...string) cosign.Demand {
	t.Helper()
	d := cosign.Demand{InsecureIgnoreTlog: true}
	for _, n := range names {
		d.Keys = append(d.Keys, cosign.Key{Path: n + ".pub", PEM: read(t, n+".pub")})
	}
	return d
}

func build(t testing.TB, d cosign.Demand) verify.Judge {
	t.Helper()
	j, err := local().Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func judge(t testing.TB, j verify.Judge, of digest.Digest, found ...registry.Attachment) verify.Verdict {
	t.Helper()
	v, err := j.Judge(context.Background(), of, found)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// accepted checks that a verdict is satisfied, and returns its first signature.
func accepted(t testing.TB, v verify.Verdict) verify.Signature {
	t.Helper()
	if len(v.Reasons) > 0 || len(v.Signatures) == 0 || !v.Signatures[0].Verified || v.Signatures[0].Reason != "" {
		t.Fatalf("want it accepted, got %+v", v)
	}
	return v.Signatures[0]
}

// refused checks that a verdict is not satisfied, that no signature is verified, and that the first
// signature and the reasons have the cause.
func refused(t testing.TB, v verify.Verdict, want string) {
	t.Helper()
	if len(v.Reasons) == 0 || len(v.Signatures) == 0 {
		t.Fatalf("want it refused, got %+v", v)
	}
	for _, s := range v.Signatures {
		if s.Verified || s.Logged {
			t.Errorf("a signature counts: %+v", s)
		}
	}
	if got := v.Signatures[0].Reason; !strings.Contains(got, want) {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	if got := strings.Join(verify.Texts(v.Reasons), "\n"); !strings.Contains(got, want) {
		t.Errorf("the reasons are %q, want %q", got, want)
	}
}

// TestGolden verifies signatures of the CLIs, with each type of key and in both forms, including
// some that the CLIs themselves do not verify.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"cosign", "ed", "rsa", "p384"} {
		for version, form := range map[string]string{"v2-": "legacy", "v3-": "bundle"} {
			t.Run(version+key, func(t *testing.T) {
				t.Parallel()
				d := byKey(t, key)
				d.Annotations = map[string]string{"env": "prod"}
				a := golden(t, version+key)
				s := accepted(t, judge(t, build(t, d), subject, a))
				if s.Form != form || s.Subject != subject || s.Manifest != a.Manifest.Digest || s.Signer != key+".pub" ||
					!strings.HasPrefix(s.Key, "sha256:") || s.Annotations["env"] != "prod" || s.Logged || s.Time != nil {
					t.Errorf("got %+v", s)
				}

				other := "rsa"
				if key == other {
					other = "ed"
				}
				refused(t, judge(t, build(t, byKey(t, other)), subject, a), "none of the required keys made it")

				if form == "legacy" {
					a.Tag = tag(another)
				}
				refused(t, judge(t, build(t, d), another, a), "it signs "+subject.String()+", another artifact")
			})
		}
	}
}

func TestGoldenDemands(t *testing.T) {
	t.Parallel()
	bundle, legacy, ed := golden(t, "v3-cosign"), golden(t, "v2-cosign"), golden(t, "v3-ed")
	for name, tc := range map[string]struct {
		change func(*cosign.Demand)
		found  []registry.Attachment
		reason string // "" for accepted
		all    string // the reasons
	}{
		"annotation of another value": {
			change: func(d *cosign.Demand) { d.Annotations = map[string]string{"env": "test"} },
			found:  []registry.Attachment{bundle}, reason: "annotation env is prod, wanted test",
		},
		"annotation of another value, legacy": {
			change: func(d *cosign.Demand) { d.Annotations = map[string]string{"env": "test"} },
			found:  []registry.Attachment{legacy}, reason: "annotation env is prod, wanted test",
		},
		"annotation missing": {
			change: func(d *cosign.Demand) { d.Annotations = map[string]string{"env": "prod", "team": "a"} },
			found:  []registry.Attachment{bundle}, reason: "it has no annotation team, wanted a",
		},
		"form": {
			change: func(d *cosign.Demand) { d.Forms = []cosign.Form{cosign.FormBundle} },
			found:  []registry.Attachment{legacy}, reason: "signatures of the legacy form are not accepted here",
		},
		"other form": {
			change: func(d *cosign.Demand) { d.Forms = []cosign.Form{cosign.FormLegacy} },
			found:  []registry.Attachment{bundle}, reason: "signatures of the bundle form are not accepted here",
		},
		"attestation": {
			found:  []registry.Attachment{golden(t, "v3-attestation")},
			reason: `it is an attestation (predicate "https://slsa.dev/provenance/v1"), not a signature`,
		},
		"one of two keys": {
			change: func(d *cosign.Demand) { *d = byKey(t, "ed", "cosign") },
			found:  []registry.Attachment{bundle},
		},
		"two of two keys": {
			change: func(d *cosign.Demand) { *d = byKey(t, "ed", "cosign"); d.Threshold = 2 },
			found:  []registry.Attachment{bundle, ed},
		},
		"a second one of the same key": {
			change: func(d *cosign.Demand) { *d = byKey(t, "ed", "cosign"); d.Threshold = 2 },
			found:  []registry.Attachment{bundle, legacy}, all: "1 of 2 signatures needed: found cosign.pub (sha256:882f6c451404…)",
		},
		"the same one twice": {
			change: func(d *cosign.Demand) { *d = byKey(t, "ed", "cosign"); d.Threshold = 2 },
			found:  []registry.Attachment{bundle, bundle}, all: "1 of 2 signatures needed",
		},
		"a trusted one behind others": {
			found: []registry.Attachment{golden(t, "v3-attestation"), ed, legacy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := byKey(t, "cosign")
			if tc.change != nil {
				tc.change(&d)
			}
			v := judge(t, build(t, d), subject, tc.found...)
			switch {
			case tc.all != "":
				if got := strings.Join(verify.Texts(v.Reasons), "\n"); !strings.Contains(got, tc.all) {
					t.Errorf("the reasons are %q, want %q", got, tc.all)
				}
			case tc.reason != "":
				refused(t, v, tc.reason)
			default:
				accepted(t, v)
			}
		})
	}
}

// TestClaims checks the claims of signatures if nobody is trusted.
func TestClaims(t *testing.T) {
	t.Parallel()
	j, err := local().Judge(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v2-cosign", "v3-cosign"} {
		v := judge(t, j, subject, golden(t, name))
		refused(t, v, "no policy or flag requires it")
		if s := v.Signatures[0]; s.Subject != subject || s.Annotations["env"] != "prod" || s.Signer != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if v := judge(t, j, subject); len(v.Signatures) != 0 || v.Reasons[0].Text != "nobody signed it" {
		t.Errorf("without any: %+v", v)
	}
	if v := judge(t, build(t, byKey(t, "cosign")), subject); v.Reasons[0].Text != "nobody signed it" {
		t.Errorf("without any: %+v", v)
	}
	if q := j.Query(subject); len(q.Tags) != 1 || q.Tags[0] != tag(subject) || len(q.ArtifactTypes) != 1 {
		t.Errorf("it asks for %+v", q)
	}
}

// byAlice returns the demand for the keyless signatures in testdata, which may be years old.
func byAlice(t testing.TB) cosign.Demand {
	t.Helper()
	return cosign.Demand{
		Identities:  []cosign.Identity{{Subject: "alice@example.com", Issuer: "https://issuer.example.com"}},
		TrustedRoot: read(t, "trusted_root.json"),
		Annotations: map[string]string{"env": "prod"},
	}
}

// TestGoldenKeyless verifies signatures whose certificates, with their authorities, have expired.
func TestGoldenKeyless(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v2-keyless", "v3-keyless"} {
		if s := accepted(t, judge(t, build(t, byAlice(t)), subject, golden(t, name))); !s.Logged || s.Identity != "alice@example.com" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestTampered changes each byte in turn. None of the results may be accepted.
func TestTampered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v2-ed", "v3-ed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := build(t, byKey(t, "ed"))
			a := golden(t, name)
			whole := a.Files[0].Data
			accepted(t, judge(t, j, subject, a))
			for i := range whole {
				changed := append([]byte(nil), whole...)
				changed[i] ^= 0x02
				a.Files[0].Data = changed
				v := judge(t, j, subject, a)
				if len(v.Reasons) > 0 {
					continue
				}
				// What surrounds the signed statement, such as the hint and blanks, is not signed.
				if name == "v3-ed" && statement(changed) == statement(whole) {
					continue
				}
				t.Fatalf("byte %d: accepted: %s", i, changed)
			}
		})
	}
}

// statement returns the content of the envelope of a bundle, in base64.
func statement(bundle []byte) string {
	var b struct {
		DSSEEnvelope struct {
			Payload, PayloadType string
			Signatures           []struct{ Sig string }
		}
	}
	if json.Unmarshal(bundle, &b) != nil {
		return "?"
	}
	out, _ := json.Marshal(b.DSSEEnvelope)
	return string(out)
}
