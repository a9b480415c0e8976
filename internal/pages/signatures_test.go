package pages

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// samples returns the blocks of docs/formats.md by sample. White space is removed from JSON.
func samples(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, b := range blocks(page(t, "docs/formats.md")) {
		name, ok := strings.CutPrefix(b.info, "json sample=")
		if key, isKey := strings.CutPrefix(b.info, "text sample="); isKey {
			out[key] = b.text
		}
		if !ok {
			continue
		}
		var short bytes.Buffer
		if err := json.Compact(&short, []byte(b.text)); err != nil {
			t.Fatalf("docs/formats.md, line %d: %v", b.line, err)
		}
		out[name] = short.String()
	}
	return out
}

// TestSignaturesOnThePageAreValid checks that krmcat makes the signatures on the page from the same
// claim, that they match the manifests next to them, and that they are valid.
func TestSignaturesOnThePageAreValid(t *testing.T) {
	t.Parallel()
	s := samples(t)
	var subject digest.Digest
	var found []registry.Attachment
	for _, form := range []string{"bundle", "legacy"} {
		var m ocispec.Manifest
		if err := json.Unmarshal([]byte(s[form+"-manifest"]), &m); err != nil {
			t.Fatal(err)
		}
		data := []byte(s[form])
		layer := m.Layers[0]
		if got := digest.FromBytes(data); got != layer.Digest || int64(len(data)) != layer.Size {
			t.Errorf("%s: the layer is %s of %d bytes, the manifest says %s of %d", form, got, len(data), layer.Digest, layer.Size)
		}
		a := registry.Attachment{
			Manifest:     ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromString(s[form+"-manifest"])},
			ArtifactType: m.ArtifactType, Annotations: m.Annotations,
			Files: []registry.AttachedFile{{Descriptor: layer, Data: data}},
		}
		if m.Subject != nil {
			subject = m.Subject.Digest
		} else {
			a.Tag = "sha256-" + subject.Encoded() + ".sig"
		}
		found = append(found, a)
	}
	j, err := cosign.New(judge.Dial).Build(cosign.Demand{
		Keys: []cosign.Key{{Name: "page", PEM: []byte(s["key"])}}, Threshold: 1,
		Annotations: map[string]string{"env": "production"}, InsecureIgnoreTlog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := j.Judge(t.Context(), subject, found)
	if err != nil || len(v.Reasons) > 0 || len(v.Signatures) != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, sig := range v.Signatures {
		if !sig.Verified {
			t.Errorf("%s: %s", sig.Form, sig.Reason)
		}
	}
	if !strings.Contains(page(t, "docs/formats.md"), "`sha256-"+subject.Encoded()+".sig`") {
		t.Error("the page does not name the tag of the legacy form")
	}
}

// TestClaimsOnThePageAreThoseOfTheCode checks that the statement and the payload of the page alone
// show what krmcat signs.
func TestClaimsOnThePageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	s := samples(t)
	private, _, err := cosign.New(judge.Dial).GenerateKey("ed25519", nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := cosign.New(judge.Dial).LoadSigner(private, nil, cosign.FormLegacy, cosign.FormBundle)
	if err != nil {
		t.Fatal(err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal([]byte(s["bundle-manifest"]), &m); err != nil {
		t.Fatal(err)
	}
	made, err := signer.Sign(t.Context(), cosign.Claim{
		Digest: m.Subject.Digest, Reference: "registry.example.com/fns/catalog", Annotations: map[string]string{"env": "production"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var bundle struct {
		DSSEEnvelope struct{ Payload []byte }
	}
	if err := json.Unmarshal(made[1].Files[0].Data, &bundle); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s["legacy"], string(made[0].Files[0].Data)); diff != "" {
		t.Errorf("the payloads differ:\n%s", diff)
	}
	if diff := cmp.Diff(s["statement"], string(bundle.DSSEEnvelope.Payload)); diff != "" {
		t.Errorf("the statements differ:\n%s", diff)
	}
	if diff := cmp.Diff(m.Annotations, made[1].Annotations); diff != "" || made[1].ArtifactType != m.ArtifactType {
		t.Errorf("the manifests differ: %s\n%s", made[1].ArtifactType, diff)
	}
}
