package tamper

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
)

// read decodes a manifest.
func (s *scene) read(m regtest.Manifest, into any) {
	if err := json.Unmarshal(m.Data, into); err != nil {
		s.t.Fatal(err)
	}
}

// evilChild stores the manifest of an evil program, for this platform.
func evilChild(r *repository) ocispec.Descriptor {
	return artifact(r, mediatypes.ExecArtifact, mediatypes.ExecLayer, evilProgram)
}

// replaced attaches something else to the script in place of what the platform signed.
func (s *scene) replaced(set func(d ocispec.Descriptor) []registry.Attachment) ([]string, func()) {
	d := s.signedScript()
	return verifyKey(label), func() {
		s.strip("fns/label", d)
		s.attach("fns/label", d, set(d)...)
	}
}

// forgeryRows are signatures whose content differs from what they seem to say.
func forgeryRows() map[string]tampering {
	only := func(f func(s *scene, d ocispec.Descriptor) registry.Attachment) func(*scene) ([]string, func()) {
		return func(s *scene) ([]string, func()) {
			return s.replaced(func(d ocispec.Descriptor) []registry.Attachment { return []registry.Attachment{f(s, d)} })
		}
	}
	return map[string]tampering{
		"a genuine signature whose payload was changed to this digest": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			of := s.script("fns/label", "x = 1\n").Digest
			sig := s.platform.sign(said{digest: of}.payload())
			return legacyOf(said{digest: d.Digest}.payload(), map[string]string{signatureKey: base64.StdEncoding.EncodeToString(sig)})
		}), "legacy signature: none of the required keys made it"},
		"a genuine bundle whose statement was changed to this digest": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			of := s.script("fns/label", "x = 1\n").Digest
			sig := s.platform.sign(pae(statementOfToto, said{digest: of}.statement()))
			return bundleOf(statementOfToto, said{digest: d.Digest}.statement(), sig)
		}), "bundle signature: none of the required keys made it"},
		"a genuine signature whose payload names another digest": {only(func(s *scene, _ ocispec.Descriptor) registry.Attachment {
			return s.platform.legacy(said{digest: s.script("fns/label", "x = 1\n").Digest})
		}), "legacy signature: it signs sha256:[0-9a-f]{64}, another artifact"},
		"a genuine bundle whose statement names another digest": {only(func(s *scene, _ ocispec.Descriptor) registry.Attachment {
			return s.platform.bundle(said{digest: s.script("fns/label", "x = 1\n").Digest})
		}), "bundle signature: it signs sha256:[0-9a-f]{64}, another artifact"},
		"an attestation by the right key, called a signature by its manifest": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			return s.platform.bundle(said{digest: d.Digest, predicate: slsaPredicate})
		}), `it is an attestation \(predicate "https://slsa.dev/provenance/v1"\), not a signature`},
		"a statement by the right key of another _type": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			return s.platform.bundle(said{digest: d.Digest, kind: "https://example.com/Poem/v1"})
		}), `it signs a statement of _type "https://example.com/Poem/v1", want https://in-toto.io/Statement/v1`},
		"a statement by the right key that has no _type": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			st := bytes.Replace(said{digest: d.Digest}.statement(), []byte(`"_type"`), []byte(`"type"`), 1)
			return bundleOf(statementOfToto, st, s.platform.sign(pae(statementOfToto, st)))
		}), `it signs a statement of _type "", want`},
		"a signature by the right key of something that is no statement": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			st := said{digest: d.Digest}.statement()
			return bundleOf("text/plain", st, s.platform.sign(pae("text/plain", st)))
		}), `it signs a "text/plain", not a statement`},
		"a payload of another type by the right key": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			payload := bytes.ReplaceAll(said{digest: d.Digest}.payload(), []byte("cosign container image signature"), []byte("a poem"))
			return legacyOf(payload, map[string]string{signatureKey: base64.StdEncoding.EncodeToString(s.platform.sign(payload))})
		}), `it is a "a poem", not a signature`},
		"two signatures in one bundle, the trusted one of something else": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			st := said{digest: d.Digest}.statement()
			return bundleOf(statementOfToto, st, s.stranger.sign(pae(statementOfToto, st)), s.platform.sign([]byte("x")))
		}), "not have exactly one signature"},
		"a signature of another statement than the one in its envelope": {only(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			st := said{digest: d.Digest}.statement()
			return bundleOf(statementOfToto, st, s.platform.sign(st)) // signs the statement, not its envelope
		}), "none of the required keys made it"},
	}
}

// garbageRows attach data that is no signature, or too many signatures.
func garbageRows() map[string]tampering {
	legacy := func(annotations map[string]string) func(s *scene) ([]string, func()) {
		return func(s *scene) ([]string, func()) {
			return s.replaced(func(d ocispec.Descriptor) []registry.Attachment {
				return []registry.Attachment{legacyOf(said{digest: d.Digest}.payload(), annotations)}
			})
		}
	}
	return map[string]tampering{
		"a signature that is garbage":     {legacy(map[string]string{signatureKey: "%%%"}), "its signature is not in base64"},
		"a signature that is empty":       {legacy(nil), "it has no signature"},
		"a signature that is other bytes": {legacy(map[string]string{signatureKey: "Z2FyYmFnZQ=="}), "none of the required keys made it"},
		"a certificate that is garbage": {legacy(map[string]string{
			signatureKey: "Z2FyYmFnZQ==", "dev.sigstore.cosign/certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		}), "its certificate cannot be read"},
		"a log entry that is garbage": {legacy(map[string]string{
			signatureKey: "Z2FyYmFnZQ==", "dev.sigstore.cosign/bundle": `{"Payload": {"body": 7}}`,
		}), "its log entry cannot be read"},
		"a bundle that is no JSON": {func(s *scene) ([]string, func()) {
			return s.replaced(func(ocispec.Descriptor) []registry.Attachment {
				return []registry.Attachment{bundleText([]byte("{{{"))}
			})
		}, "the bundle cannot be read"},
		"a bundle that is empty": {func(s *scene) ([]string, func()) {
			return s.replaced(func(ocispec.Descriptor) []registry.Attachment {
				return []registry.Attachment{bundleText([]byte("{}"))}
			})
		}, "bundle signature: it (has no signature|signs a file by its content)"},
		"a payload that is no JSON": {func(s *scene) ([]string, func()) {
			return s.replaced(func(ocispec.Descriptor) []registry.Attachment {
				return []registry.Attachment{legacyOf([]byte("\x00\xff"), map[string]string{signatureKey: "Z2FyYmFnZQ=="})}
			})
		}, "what it signs cannot be read"},
		"an index under the signature tag": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() {
				s.strip("fns/label", d)
				s.change("fns/label", func(r *repository) {
					put(r, ocispec.MediaTypeImageIndex, ocispec.Index{
						Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{},
					}, legacyTagOf(d))
				})
			}
		}, "its attachments cannot be used: .*expected an attachment, found an index"},
		"changed bytes of the signature": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() {
				s.strip("fns/label", d, "legacy")
				s.change("fns/label", func(r *repository) {
					for _, a := range r.Referrers(d.Digest) {
						var m ocispec.Manifest
						s.read(r.Manifests[a.Digest.String()], &m)
						name := m.Layers[0].Digest.String()
						r.Blobs[name] = edited(r.Blobs[name])
					}
				})
			}
		}, "its attachments cannot be used: .*content does not match its digest"},
		"a listed signature whose manifest is missing": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() {
				s.strip("fns/label", d, "legacy")
				s.change("fns/label", func(r *repository) {
					r.Listed[d.Digest] = r.Referrers(d.Digest)
					for _, a := range r.Listed[d.Digest] {
						delete(r.Manifests, a.Digest.String())
					}
				})
			}
		}, "nobody signed it"},
		"a signature whose bytes are missing": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() {
				s.change("fns/label", func(r *repository) {
					var m ocispec.Manifest
					s.read(r.Manifests[legacyTagOf(d)], &m)
					delete(r.Blobs, m.Layers[0].Digest.String())
				})
			}
		}, "its attachments cannot be used: .*not found"},
		"a flood of 1,001 referrers": {flood(1001, func(i int) registry.Attachment {
			a := bundleText(fmt.Appendf(nil, "%d", i))
			a.ArtifactType = "application/vnd.example.junk"
			a.Annotations = nil
			return a
		}), "there are more than the 1000 referrers that are read"},
		"a flood of 65 bundles": {flood(65, func(i int) registry.Attachment {
			return bundleText(fmt.Appendf(nil, "%d", i))
		}), "there are more than the 64 attachments that are read"},
		"an attached file that is too large": {flood(1, func(int) registry.Attachment {
			return bundleText(bytes.Repeat([]byte(" "), 1<<20+1))
		}), "its attachments cannot be used: .*at most 1048576 are read"},
	}
}

// flood attaches n of something to a script that is signed by a bundle.
func flood(n int, one func(i int) registry.Attachment) func(s *scene) ([]string, func()) {
	return func(s *scene) ([]string, func()) {
		d := s.script("fns/label", goodScript, "v1")
		s.attach("fns/label", d, s.platform.bundle(said{digest: d.Digest}))
		return verifyKey(label), func() {
			for i := range n {
				s.attach("fns/label", d, one(i))
			}
		}
	}
}

// layoutRows tamper with a layout on disk that krmcat made and signed.
func layoutRows() map[string]tampering {
	set := func(s *scene) []string {
		s.write("label.star", goodScript)
		for _, args := range [][]string{
			{"keygen", "-o", "own"},
			{"push", "oci-layout://lay:v1", "label.star"},
			{"sign", "oci-layout://lay:v1", "--key", "own.key"},
		} {
			if o := s.krmcat(args...); o.code != 0 {
				s.t.Fatalf("krmcat %q: %s", args, o)
			}
		}
		return []string{"verify", "--key", "own.pub", "oci-layout://lay:v1"}
	}
	return map[string]tampering{
		"a layout whose manifest was changed": {func(s *scene) ([]string, func()) {
			run := set(s)
			return run, func() { s.editFile(s.tagged("v1")) }
		}, "content does not match its digest"},
		"a layout whose tag was moved": {func(s *scene) ([]string, func()) {
			run := set(s)
			return run, func() {
				s.write("evil.star", evilScript)
				if o := s.krmcat("push", "oci-layout://lay:v1", "evil.star"); o.code != 0 {
					s.t.Fatal(o)
				}
			}
		}, "nobody signed it"},
		"a layout whose signatures are not listed any more": {func(s *scene) ([]string, func()) {
			run := set(s)
			return run, func() {
				s.editIndex(func(d ocispec.Descriptor) bool { return d.Annotations[ocispec.AnnotationRefName] == "v1" })
			}
		}, "nobody signed it"},
		"a layout whose signature was changed": {func(s *scene) ([]string, func()) {
			run := set(s)
			return run, func() {
				s.editIndex(func(d ocispec.Descriptor) bool { // the older form stays
					return d.Annotations[ocispec.AnnotationRefName] != ""
				})
				s.editFile(s.tagged(".sig"))
			}
		}, "its attachments cannot be used: .*content does not match its digest"},
	}
}

// tagged returns the file of the blob in the layout whose tag has a suffix.
func (s *scene) tagged(suffix string) string {
	found := ""
	s.editIndex(func(d ocispec.Descriptor) bool {
		if strings.HasSuffix(d.Annotations[ocispec.AnnotationRefName], suffix) {
			found = "lay/blobs/sha256/" + d.Digest.Encoded()
		}
		return true
	})
	if found == "" {
		s.t.Fatalf("the layout has no tag that ends in %q", suffix)
	}
	return found
}
