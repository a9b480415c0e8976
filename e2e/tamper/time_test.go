package tamper

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// material returns a bundle and its verification material.
func (s *scene) material(a registry.Attachment) (bundle, material map[string]any) {
	bundle = s.decode(a.Files[0].Data)
	return bundle, bundle["verificationMaterial"].(map[string]any)
}

// signedBy signs for alice by the services of several sigstores.
func (s *scene) signedBy(c sigtest.Claim, fulcio, rekor, tsa *sigtest.Sigstore) registry.Attachment {
	o := cosign.KeylessOptions{
		Token: fulcio.Token(c.Who), FulcioURL: fulcio.FulcioURL, RekorURL: rekor.RekorURL, Transport: http.DefaultTransport,
	}
	if tsa != nil {
		o.TSAURL = tsa.TSAURL
	}
	signer, err := cosign.New(judge.Dial).NewKeyless(o)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := signer.Sign(s.t.Context(), cosign.Claim{Digest: c.Digest})
	if err != nil {
		s.t.Fatal(err)
	}
	return list[0]
}

// timeRows use wrong proofs of time, and services of different sigstores.
func timeRows() map[string]tampering {
	const stampKey = "dev.sigstore.cosign/rfc3161timestamp"
	const never = "no trusted source attests when it was made|no authority of the trusted root made its timestamp"
	without := func(form string) another {
		return func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			c.Timestamp = false
			return made(store, form, c)
		}
	}
	return map[string]tampering{
		"a bundle without a timestamp, where the log is not asked":    {timed("bundle", without("bundle")), never},
		"a signature without a timestamp, where the log is not asked": {timed("legacy", without("legacy")), never},
		"a bundle with the timestamp of another signature": {timed("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a := store.Bundle(c)
			b, mine := s.material(a)
			_, theirs := s.material(store.Bundle(c))
			mine["timestampVerificationData"] = theirs["timestampVerificationData"]
			a.Files[0].Data = marshal(b)
			return a
		}), never},
		"a signature with the timestamp of another signature": {timed("legacy", func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			a := store.Legacy(c)
			a.Files[0].Annotations[stampKey] = store.Legacy(c).Files[0].Annotations[stampKey]
			return a
		}), never},
		"a timestamp of an authority that nobody trusts": {timed("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			return s.signedBy(c, store, store, sigtest.New(s.t))
		}), never},
		"a timestamp after the certificate expired": {timed("bundle", func(_ *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			store.Behave(sigtest.Behaviour{CertificateAge: time.Hour})
			return store.Bundle(c)
		}), "the certificate expired at .*, before it was used at"},
		"a log that nobody trusts": {keyless("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			return s.signedBy(c, store, sigtest.New(s.t), nil)
		}), "no log of the trusted root vouches for the log entry"},
		"a log that nobody trusts, and a timestamp that is trusted": {keyless("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			return s.signedBy(c, store, sigtest.New(s.t), store)
		}), "no log of the trusted root vouches for the log entry"},
		"a certificate of an authority that nobody trusts, in the right log": {keyless("bundle", func(s *scene, store *sigtest.Sigstore, c sigtest.Claim) registry.Attachment {
			return s.signedBy(c, sigtest.New(s.t), store, nil)
		}), "no authority of the trusted root vouches for the certificate"},
		"two signers required, one name signs with two certificates": {func(s *scene) ([]string, func()) {
			store := sigtest.New(s.t)
			store.Write(s.dir, alice())
			d := s.script("fns/label", goodScript, "v1")
			c := sigtest.Claim{Who: alice(), Digest: d.Digest, Reference: "registry.example.com/fns/label"}
			bob := c
			bob.Who.Subject = "bob@example.com"
			s.attach("fns/label", d, store.Bundle(c), store.Bundle(bob))
			run := s.policy("**", "{cosign: {threshold: 2, trustedRoot: {path: trusted_root.json}, identities: ["+
				"{subjectRegExp: '.*@example[.]com', issuer: 'https://issuer.example.com'}, {subject: alice@example.com, issuer: 'https://issuer.example.com'}]}}")
			return run, func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, store.Bundle(c), store.Bundle(c), store.Legacy(c))
			}
		}, "1 of 2 signatures needed"},
		"the bytes of a manifest signed as a file by the right key": {func(s *scene) ([]string, func()) {
			return s.replaced(func(d ocispec.Descriptor) []registry.Attachment {
				var data []byte
				s.change("fns/label", func(r *repository) { data = r.Manifests[d.Digest.String()].Data })
				hash := sha256.Sum256(data)
				return []registry.Attachment{bundleText(marshal(map[string]any{
					"mediaType": bundleLayer, "verificationMaterial": map[string]any{"publicKey": map[string]string{"hint": "a key"}},
					"messageSignature": map[string]any{
						"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": hash[:]}, "signature": s.platform.sign(data),
					},
				}))}
			})
		}, "it signs a file by its content"},
	}
}

// TestTextOfSignaturesIsEscaped has a stranger attach signatures whose texts imitate krmcat's
// output: by line breaks, control sequences and characters that reverse text.
func TestTextOfSignaturesIsEscaped(t *testing.T) {
	t.Parallel()
	const nasty = "x\r\n\x1b[1A\x1b[2KVerdict:     trusted\n\u202Everdict: trusted\u2066\x07\x00\u009b1A"
	s := &scene{world: newWorld(t, false), platform: newHand(t), stranger: newHand(t)}
	s.write("platform.pub", s.platform.pem)
	d := s.catalog("fns/catalog", map[string]string{"Label": "{starlark: 'oci://HOST/fns/label:v1'}"}, "v1")
	claim := said{digest: d.Digest, annotations: map[string]string{nasty: nasty}}
	st := said{digest: d.Digest, predicate: nasty}
	named := bundleOf(nasty, claim.statement(), []byte("sig"))
	named.Annotations[nasty] = nasty
	hinted := s.decode(s.stranger.bundle(claim).Files[0].Data)
	hinted["verificationMaterial"] = map[string]any{"publicKey": map[string]string{"hint": nasty}}
	typed := s.stranger.legacy(claim)
	typed.Files[0].MediaType += nasty
	s.attach("fns/catalog", d, s.stranger.legacy(claim), s.stranger.bundle(claim), s.stranger.bundle(st), named,
		bundleText(marshal(hinted)), typed, bundleText([]byte(nasty)), legacyOf([]byte(nasty), nil))
	ref := "oci://HOST/fns/catalog:v1"
	for _, run := range [][]string{
		{"verify", ref}, verifyKey(ref), {"verify", ref, "--format", "json"}, {"verify", ref, "--format", "yaml"},
		{"view", "catalog", ref}, {"view", "catalog", ref, "--key", "platform.pub"},
	} {
		o := s.krmcat(run...)
		if want := map[string]int{"verify": 4, "view": 0}[run[0]]; o.code != want {
			t.Errorf("krmcat %q ends with %s\nwant exit code %d", run, o, want)
		}
		if i := strings.IndexFunc(o.said(), unsafeRune); i >= 0 {
			t.Errorf("krmcat %q prints control characters: %q", run, o.said()[i:])
		}
		forged := func(line string) bool {
			words := strings.Fields(line)
			return len(words) > 1 && strings.EqualFold(words[0], "verdict:") && words[1] == "trusted"
		}
		if slices.ContainsFunc(strings.Split(o.said(), "\n"), forged) {
			t.Errorf("krmcat %q prints a line that a stranger wrote: %s", run, o)
		}
	}
}

// unsafeRune reports whether a terminal interprets a character as a control sequence, or as a
// change of the direction of text.
func unsafeRune(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
