package verify_test

import (
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

const someDigest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestSpellingsChooseNoRule spells one place in all ways that lead to the same content. There is a
// strict rule for the place and a lax one for everything else. The strict rule must apply to all
// spellings.
func TestSpellingsChooseNoRule(t *testing.T) {
	t.Parallel()
	const lax = "'**'"
	for _, c := range []struct {
		strict, lax string
		refs        string // each is one spelling
		also        string // the spelling of the flag
	}{
		{"'oci://h.example/fns/cat:v1'", "'oci://h.example/**'", "oci://h.example/fns/cat:v1 oci://h.example/fns/cat:v1" + someDigest, ""},
		{"'oci://h.example/fns/cat:v1'", lax, "oci://H.EXAMPLE/fns/cat:v1" + someDigest + " oci://h.example:443/fns/cat:v1" + someDigest + " oci://h.example./fns/cat:v1" + someDigest, ""},
		{"'oci://H.example.:443/fns/cat:v1'", lax, "oci://h.example/fns/cat:v1" + someDigest, ""},
		{"'oci://h.example/fns/cat:v*'", lax, "oci://h.example/fns/cat:v1" + someDigest, ""},
		{"'oci://*.example/**:v1'", lax, "oci://h.example/fns/cat:v1" + someDigest, ""},
		{"'oci://h.example/fns/cat:latest'", lax, "oci://h.example/fns/cat oci://h.example/fns/cat:latest" + someDigest, ""},
		{"'oci://h.example/fns/cat:*'", lax, "oci://h.example/fns/cat oci://h.example/fns/cat:v1 oci://h.example/fns/cat:v1" + someDigest + " oci://h.example/fns/cat" + someDigest, ""},
		{"'oci://h.example/fns/cat'", "'oci://h.example/fns/cat:dev'", "oci://h.example/fns/cat:dev" + someDigest + " oci://h.example/fns/cat:v1" + someDigest + " oci://h.example/fns/cat" + someDigest, ""},
		{"'oci://docker.io/library/cat:v1'", lax, "oci://docker.io/cat:v1" + someDigest + " oci://index.docker.io/cat:v1" + someDigest + " oci://registry-1.docker.io/library/cat:v1" + someDigest, ""},
		{"'oci-layout:///srv/store:v1'", "'oci-layout:///srv/**'", "oci-layout:///srv/store:v1" + someDigest + " oci-layout:///srv/./store:v1" + someDigest, ""},
		// A layout without a tag is any of its content.
		{"'oci-layout:///srv/store:v1'", "'oci-layout:///srv/**'", "oci-layout:///srv/store", ""},
		{"'oci-layout:///srv/store:*'", lax, "oci-layout:///srv/store oci-layout:///srv/./store", ""},
		{"'oci-layout:///srv/*:v*'", "'oci-layout:///srv/store'", "oci-layout:///srv/store", ""},
		{"'https://h.example/cat.yaml'", "'https://h.example/**'", "https://h.example/cat.yaml" + someDigest + " https://h.example/cat.yaml?raw=1 https://H.example:443/cat.yaml?a" + someDigest, ""},
		{"'https://h.example/fns/**'", lax, "https://h.example/fns/cat.yaml?raw=1 https://h.example/fns/a/../cat.yaml https://h.example/fns/%2e/cat.yaml https://h.example//fns/cat.yaml https://h.example/f%6Es/cat.yaml", ""},
		{"'https://h.example/fns/cat.yaml'", lax, "https://h.example/fns/%63at.yaml https://h.example//fns/cat.yaml https://h.example/fns/cat.yaml/ https://h.example/x/../fns/cat.yaml https://h.example/fns/cat.yaml;v=1 https://h.example/fns;a/cat.yaml;b?c", ""},
		{"'https://h.example/fns/*.yaml'", lax, "https://h.example/fns/cat.yaml;v=1", ""},
		{"'https://*.example/fns/*.yaml'", lax, `https://h.example/fns\cat.yaml https://h.example/fns/a/..;/cat.yaml?x`, ""},
		{"'/srv/fns/*.yaml'", lax, "/srv/fns/cat.yaml /srv/fns/cat.yaml" + someDigest + " file:///srv/fns/cat.yaml", ""},
		// The flag trusts the tag, and the target omits it.
		{"'oci://h.example/fns/cat:v1'", lax, "oci://h.example/fns/cat" + someDigest, "oci://h.example/fns/cat:v1"},
		{"'oci://h.example/fns/cat:v1'", lax, "oci://h.example/fns/cat:v2" + someDigest, "oci://h.example/fns/cat:v1" + someDigest},
		// An exemption for a digest does not apply to the tag that the flag trusts.
		{"'oci://h.example/fns/cat:v1'", "'oci://h.example/fns/cat" + someDigest + "'", "oci://h.example/fns/cat:v1" + someDigest, "oci://h.example/fns/cat:v1"},
	} {
		for _, use := range []verify.Use{verify.UseCatalog, verify.UseScript, verify.UseImage} {
			for _, first := range []bool{false, true} {
				rules := []string{"  - {match: " + c.strict + ", catalogs: {stamp: ann}, runtimes: {stamp: ann}}\n", "  - {match: " + c.lax + ", catalogs: {nothing: lax}, runtimes: {nothing: lax}}\n"}
				if first {
					rules[0], rules[1] = rules[1], rules[0]
				}
				doc, _ := decodePolicy(t, strings.Join(rules, ""))
				for ref := range strings.FieldsSeq(c.refs) {
					ask := verify.Request{Use: use, Ref: place(t, ref)}
					if c.also != "" {
						ask.Also = []reference.Locator{place(t, c.also)}
					}
					err := refusal(t, doc, ask)
					if err == nil || !strings.Contains(err.Error(), "the stamp of ann") {
						t.Errorf("%s, written as %s (flag %q): the rule for %s decides: %v", c.strict, ref, c.also, c.lax, err)
					}
				}
			}
		}
	}
}

// TestSpellingsFindTheirRule checks the reverse: what a policy allows is allowed in all spellings.
func TestSpellingsFindTheirRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ open, strict, ref, also string }{
		{"oci://h.example/fns/cat", "**", "oci://h.example/fns/cat:v1" + someDigest, "oci://h.example/fns/cat:v1"},
		{"oci://h.example/fns/cat:*", "**", "oci://h.example/fns/cat" + someDigest, ""},
		{"oci://h.example/fns/cat:v1", "**", "oci://h.example/fns/cat:v1", ""},
		// The digest identifies the content, so the spelling of the place does not matter.
		{"oci://h.example/fns/cat" + someDigest, "oci://h.example/fns/cat", "oci://h.example/fns/cat:v1" + someDigest, ""},
		{"oci://h.example/fns/cat:v1" + someDigest, "**", "oci://h.example/fns/cat:v1" + someDigest, ""},
		{"https://h.example/fns/*", "**", "https://h.example/fns/cat.yaml", ""},
		{"https://h.example/fns/%2e/cat.yaml", "https://h.example/**", "https://h.example/fns/%2e/cat.yaml", ""},
		{"**", "https://other.example/**", "https://h.example/fns//cat.yaml", ""},
		{"**", "https://h.example/fns/cat.yaml" + someDigest, "https://h.example/fns//dog.yaml", ""},
	} {
		doc, _ := decodePolicy(t, "  - {match: '"+c.open+"', catalogs: {nothing: open}}\n  - {match: '"+c.strict+"', catalogs: {stamp: ann}}\n")
		ask := verify.Request{Use: verify.UseCatalog, Ref: place(t, c.ref)}
		if c.also != "" {
			ask.Also = []reference.Locator{place(t, c.also)}
		}
		if err := refusal(t, doc, ask); err != nil {
			t.Errorf("%s is for %s: %v", c.open, c.ref, err)
		}
	}
}

// TestNoSpellingWithoutARule checks that a rule for one spelling does not apply to another.
func TestNoSpellingWithoutARule(t *testing.T) {
	t.Parallel()
	doc, _ := decodePolicy(t, "  - {match: 'oci://h.example/fns/cat:v1', catalogs: {nothing: the tag alone}}\n")
	err := refusal(t, doc, verify.Request{Use: verify.UseCatalog, Ref: place(t, "oci://h.example/fns/cat:v1"+someDigest)})
	if err == nil || !strings.Contains(err.Error(), "no rule of p (policy.yaml) applies to it") {
		t.Error(err)
	}
	doc, _ = decodePolicy(t, "  - {match: 'oci://h.example/fns/cat"+someDigest+"', catalogs: {nothing: these bytes}}\n")
	err = refusal(t, doc, verify.Request{
		Use: verify.UseCatalog, Ref: place(t, "oci://h.example/fns/cat:v1"+someDigest), Also: []reference.Locator{place(t, "oci://h.example/fns/cat:v1")},
	})
	if err != nil {
		t.Errorf("a rule for the digest, and none for the tag: %v", err)
	}
}

func place(t *testing.T, s string) reference.Locator {
	t.Helper()
	l, err := reference.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// refusal verifies a plain file, which has no stamp, at a place.
func refusal(t *testing.T, doc *verify.TrustPolicy, ask verify.Request) error {
	t.Helper()
	ask.Direct = true
	s := subject("")
	s.Artifact.From = ask.Ref
	s.Artifact.Root.Digest = ask.Ref.Digest
	_, err := verify.Verify(t.Context(), s, verify.Policy{Documents: []*verify.TrustPolicy{doc}}.Checkers(ask)...)
	return err
}
