package cosign_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

const (
	legacyType = "application/vnd.dev.cosign.simplesigning.v1+json"
	bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// layer is an attachment with one layer.
func layer(form, data string, annotations map[string]string) registry.Attachment {
	a := registry.Attachment{Manifest: ocispec.Descriptor{Digest: digest.FromString(data)}, ArtifactType: bundleType}
	mediaType := bundleType
	if form == "legacy" {
		a.Tag, mediaType = tag(subject), legacyType
	}
	a.Files = []registry.AttachedFile{{
		Descriptor: ocispec.Descriptor{MediaType: mediaType, Annotations: annotations}, Data: []byte(data),
	}}
	return a
}

// shown checks that text of an unverified signature is limited and in one line.
func shown(t testing.TB, v verify.Verdict) {
	t.Helper()
	text := verify.Texts(v.Reasons)
	for _, s := range v.Signatures {
		text = append(text, s.Reason, s.Identity, s.Issuer, s.Key, string(s.Subject))
		for k, v := range s.Annotations {
			if s.Verified {
				whole(t, k, v)
				continue
			}
			text = append(text, k, v)
		}
		if !s.Verified && s.Reason == "" {
			t.Errorf("nothing says why it does not count: %+v", s)
		}
		if len(s.Annotations) > 32 && !s.Verified {
			t.Errorf("it tells %d annotations", len(s.Annotations))
		}
	}
	for _, s := range text {
		if utf8.RuneCountInString(s) > 1000 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("it tells %q", s)
		}
	}
}

// whole checks that text of a verified signature is limited, and has no control characters.
func whole(t testing.TB, words ...string) {
	t.Helper()
	for _, s := range words {
		if len(s) > 4<<10+len("…") || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("it tells %q", s)
		}
	}
}

// TestGarbage judges malformed signatures.
func TestGarbage(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	d := byIdentity(s)
	d.Keys = byKey(t, "cosign").Keys
	judges := map[string]verify.Judge{"all": build(t, d), "key": build(t, byKey(t, "cosign"))}
	payload := string(read(t, "v2-cosign", "layer.json"))
	signed := golden(t, "v2-cosign").Files[0].Annotations
	good := s.Legacy(sigtest.Claim{Who: alice(), Digest: subject, Timestamp: true})
	bundle := string(read(t, "v3-cosign", "layer.json"))
	body := func(text string) string {
		return `{"SignedEntryTimestamp":"AAAA","Payload":{"integratedTime":1,"logIndex":1,"logID":"00","body":"` +
			base64.StdEncoding.EncodeToString([]byte(text)) + `"}}`
	}
	const entry = "dev.sigstore.cosign/bundle"
	odd := layer("legacy", payload, signed)
	odd.Files[0].MediaType = "text/plain"
	for name, tc := range map[string]struct {
		found  registry.Attachment
		reason string
	}{
		"empty":                             {layer("legacy", "", signed), "what it signs cannot be read"},
		"no object":                         {layer("legacy", "[]", signed), "what it signs cannot be read"},
		"null":                              {layer("legacy", "null", signed), "it does not say which digest it signs"},
		"another type":                      {layer("legacy", strings.Replace(payload, "cosign container image signature", "atomic\u202e", 1), signed), `it is a "atomic", not a signature`},
		"too large":                         {layer("legacy", strings.Repeat(" ", 2<<20), signed), "it has 2097152 bytes"},
		"no media type of ours":             {odd, `its media type is "text/plain"`},
		"no signature":                      {layer("legacy", payload, nil), "it has no signature"},
		"no base64":                         {with(layer("legacy", payload, nil), "dev.cosignproject.cosign/signature", "?"), "not in base64"},
		"a certificate of nothing":          {with(good, "dev.sigstore.cosign/certificate", "x"), "its certificate cannot be read"},
		"a certificate of garbage":          {with(good, "dev.sigstore.cosign/certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "its certificate cannot be read"},
		"a large certificate":               {with(good, "dev.sigstore.cosign/certificate", strings.Repeat("x", 100_000)), "its certificate has 100000 bytes"},
		"a timestamp of nothing":            {with(good, "dev.sigstore.cosign/rfc3161timestamp", "{}"), "its timestamp cannot be read"},
		"a timestamp of garbage":            {with(good, "dev.sigstore.cosign/rfc3161timestamp", `{"SignedRFC3161Timestamp":"AAAA"}`), "no authority of the trusted root made its timestamp"},
		"an entry of nothing":               {with(good, entry, "null"), "its log entry cannot be read"},
		"an entry of an object":             {with(good, entry, `{"SignedEntryTimestamp":"AAAA","Payload":{"body":{}}}`), "its log entry cannot be read"},
		"an entry without a time":           {with(good, entry, `{"SignedEntryTimestamp":"AAAA","Payload":{"body":""}}`), "its log entry is incomplete"},
		"an entry of text":                  {with(good, entry, body("x")), "its log entry cannot be read"},
		"an entry of another kind":          {with(good, entry, body(`{"kind":"dsse"}`)), `its log entry is a "dsse"`},
		"an entry without a hash":           {with(good, entry, body(`{"kind":"hashedrekord"}`)), "its log entry is incomplete"},
		"an entry without a key":            {with(good, entry, body(`{"kind":"hashedrekord","apiVersion":"0.0.1","spec":{"data":{"hash":{}},"signature":{"content":"AAAA","publicKey":{"content":"AAAA"}}}}`)), "does not name one key"},
		"bundle, empty":                     {layer("bundle", "", nil), "the bundle cannot be read"},
		"bundle, null":                      {layer("bundle", "null", nil), "the bundle cannot be read"},
		"bundle, nothing":                   {layer("bundle", "{}", nil), "it has no signature"},
		"bundle, deep":                      {layer("bundle", strings.Repeat(`{"a":`, 100_000), nil), "the bundle cannot be read"},
		"bundle, no statement":              {layer("bundle", strings.Replace(bundle, "vnd.in-toto+json", "json", 1), nil), `it signs a "application/json"`},
		"bundle, another version":           {layer("bundle", strings.Replace(bundle, "v0.3+json", "v0.9+json", 1), nil), "version v0.9 is not yet supported"},
		"bundle, unknown field":             {layer("bundle", `{"x\u202e":1}`, nil), "unknown field"},
		"bundle, a broken statement":        {layer("bundle", `{"dsseEnvelope":{"payload":"AAAA","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AAAA"}]}}`, nil), "what it signs cannot be read"},
		"bundle, garbage for a certificate": {layer("bundle", `{"verificationMaterial":{"certificate":{"rawBytes":"AAAA"}}}`, nil), "its certificate cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for who, j := range judges {
				v := judge(t, j, subject, tc.found)
				shown(t, v)
				for _, s := range v.Signatures {
					if s.Verified {
						t.Fatalf("%s takes it: %+v", who, s)
					}
				}
			}
			refused(t, judge(t, judges["all"], subject, tc.found), tc.reason)
		})
	}
}

// TestFlood has more signatures than are checked.
func TestFlood(t *testing.T) {
	t.Parallel()
	j := build(t, byKey(t, "cosign"))
	var all []registry.Attachment
	for i := range 100 {
		all = append(all, layer("bundle", fmt.Sprintf(`{"x%d":1}`, i), nil))
	}
	v := judge(t, j, subject, all...)
	shown(t, v)
	said := strings.Join(verify.Texts(v.Reasons), "\n")
	if len(v.Signatures) != 64 || !strings.Contains(said, "36 more signatures were not checked") || len(v.Reasons) > 12 {
		t.Errorf("%d signatures, %s", len(v.Signatures), said)
	}
	v = judge(t, j, subject, append([]registry.Attachment{golden(t, "v3-cosign")}, all...)...)
	accepted(t, v)
	elsewhere := golden(t, "v2-cosign")
	elsewhere.Tag = tag(another)
	if v := judge(t, j, subject, elsewhere); len(v.Signatures) != 0 {
		t.Errorf("what stands under another tag is looked at: %+v", v)
	}
}

// TestManyAnnotations checks that a limited number of annotations is reported.
func TestManyAnnotations(t *testing.T) {
	t.Parallel()
	optional := map[string]any{"n": 1, "long\n": strings.Repeat("x", 10_000)}
	for i := range 100 {
		optional[fmt.Sprint("a", i)] = "b\x1b[31m"
	}
	text, err := json.Marshal(map[string]any{"critical": map[string]any{"image": map[string]any{"docker-manifest-digest": subject}}, "optional": optional})
	if err != nil {
		t.Fatal(err)
	}
	v := judge(t, build(t, byKey(t, "cosign")), subject, layer("legacy", string(text), nil))
	shown(t, v)
	if len(v.Signatures[0].Annotations) == 0 {
		t.Errorf("it tells none: %+v", v)
	}
}

// TestAnnotationsAreWhole checks that all annotations of a verified signature are reported, in both
// forms.
func TestAnnotationsAreWhole(t *testing.T) {
	t.Parallel()
	said := map[string]string{
		"long": strings.Repeat("x", 4<<10), "longer": strings.Repeat("é", 4<<10), "blanks": " a  b ", "odd": "a\x1b[31m\r\nb\u202ec",
	}
	for i := range 60 {
		said[fmt.Sprintf("%s%d", strings.Repeat("n", 300), i)] = fmt.Sprint(i)
	}
	signer, err := local().LoadSigner(read(t, "cosign.key"), []byte("pw"), cosign.FormBundle, cosign.FormLegacy)
	if err != nil {
		t.Fatal(err)
	}
	made, err := signer.Sign(t.Context(), cosign.Claim{Digest: subject, Annotations: said})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for k, v := range said {
		want[k] = v
	}
	want["longer"], want["odd"] = strings.Repeat("é", 2<<10)+"…", "a[31m  bc"
	for _, a := range made {
		v := judge(t, build(t, byKey(t, "cosign")), subject, a)
		shown(t, v)
		if got := accepted(t, v).Annotations; !maps.Equal(got, want) {
			t.Errorf("it tells %q", got)
		}
		v = judge(t, build(t, byKey(t, "ed")), subject, a)
		shown(t, v)
		if got := v.Signatures[0].Annotations; len(got) == 0 || utf8.RuneCountInString(got["long"]) != 201 {
			t.Errorf("of what does not count it tells %q", got)
		}
	}
}

// TestAnnotationsThatAreNoText checks that annotations that are not strings are reported too, so
// that different signatures look different.
func TestAnnotationsThatAreNoText(t *testing.T) {
	t.Parallel()
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	payload := strings.Replace(string(read(t, "v2-cosign", "layer.json")), `{"env":"prod"}`, `{"env":"prod","n":7,"o":{"a":null}}`, 1)
	sig, _, err := key.SignData(t.Context(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	a := layer("legacy", payload, map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(sig)})
	d := cosign.Demand{Keys: []cosign.Key{{Name: "k", PEM: []byte(public)}}, InsecureIgnoreTlog: true}
	got := accepted(t, judge(t, build(t, d), subject, a)).Annotations
	if want := map[string]string{"env": "prod", "n": "7", "o": `{"a":null}`}; !maps.Equal(got, want) {
		t.Errorf("it tells %q, want %q", got, want)
	}
}

// FuzzSection decodes sections of policies.
func FuzzSection(f *testing.F) {
	root := read(f, "cosign.pub")
	for _, s := range []string{
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: true\n", "null", "[]", "keys: &a [*a]", "<<: {keys: []}",
		"identities: [{subjectRegExp: '(', issuer: a}]\ntrustedRoot: {data: '{}'}", "threshold: 99999999999999999999",
		"keys: [{data: '" + strings.ReplaceAll(string(root), "\n", "\\n") + "'}]", "annotations: {a: b, a: c}",
		"identities: [{subject: a, issuer: b, extensions: {sourceRepositoryURI: x, sourceRepositoryRefRegExp: '('}}]\nnotBefore: 2026-01-31\ntrustedRoot: {data: '{}'}",
		"keys: [{path: 'awskms:///x'}]\nnotBefore: 2026-01-31T00:00:00Z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := yaml.Parse(text)
		if err != nil {
			return
		}
		j, err := local().Judge(n, func(string) ([]byte, error) { return root, nil })
		if (err == nil) == (j == nil) {
			t.Fatalf("got %v and %v", j, err)
		}
		if err != nil {
			return
		}
		if v := judge(t, j, subject); len(v.Reasons) == 0 {
			t.Fatal("it takes what nobody signed")
		}
	})
}

// strictAndLoose returns Judges with the same keys in each run, so that findings of the fuzzer can
// be reproduced.
func strictAndLoose(f *testing.F) []verify.Judge {
	f.Helper()
	d := byAlice(f)
	d.Keys = byKey(f, "cosign").Keys
	ignorant := byAlice(f)
	ignorant.Annotations, ignorant.InsecureIgnoreTlog, ignorant.InsecureIgnoreSCT, ignorant.InsecureIgnoreTimestamp = nil, true, true, true
	return []verify.Judge{build(f, d), build(f, byKey(f, "cosign")), build(f, ignorant)}
}

// FuzzLegacy judges arbitrary signatures in the legacy form. One may be accepted only if its
// payload was signed.
func FuzzLegacy(f *testing.F) {
	judges := strictAndLoose(f)
	signed := map[string]bool{}
	for _, name := range []string{"v2-cosign", "v2-keyless", "v2-ed"} {
		a := golden(f, name).Files[0]
		signed[string(a.Data)] = name != "v2-ed"
		n := a.Annotations
		f.Add(a.Data, n["dev.cosignproject.cosign/signature"], n["dev.sigstore.cosign/certificate"],
			n["dev.sigstore.cosign/bundle"], n["dev.sigstore.cosign/rfc3161timestamp"])
	}
	f.Fuzz(func(t *testing.T, data []byte, sig, cert, entry, stamp string) {
		a := layer("legacy", string(data), map[string]string{
			"dev.cosignproject.cosign/signature": sig, "dev.sigstore.cosign/certificate": cert,
			"dev.sigstore.cosign/bundle": entry, "dev.sigstore.cosign/rfc3161timestamp": stamp,
		})
		for _, j := range judges {
			v := judge(t, j, subject, a)
			shown(t, v)
			if v.Signatures[0].Verified && !signed[string(data)] {
				t.Fatalf("it takes %q", data)
			}
		}
	})
}

// FuzzBundle does the same with bundles. The signed content has several encodings in base64, so the
// verdict is compared.
func FuzzBundle(f *testing.F) {
	judges := strictAndLoose(f)
	for _, name := range []string{"v3-cosign", "v3-keyless", "v3-attestation", "v3-ed"} {
		f.Add(golden(f, name).Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, j := range judges {
			v := judge(t, j, subject, layer("bundle", string(data), nil))
			shown(t, v)
			s := v.Signatures[0]
			if s.Verified && (s.Subject != subject || s.Annotations["env"] != "prod" || s.Signer != "cosign.pub" && s.Identity != "alice@example.com") {
				t.Fatalf("it takes %q: %+v", data, s)
			}
		}
	})
}
