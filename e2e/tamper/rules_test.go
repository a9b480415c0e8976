package tamper

import (
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
)

// rules writes a policy with a spec and rules.
func (s *scene) rules(spec string, rules ...string) {
	s.write("policy.yaml", "apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nmetadata: {name: tests}\nspec:\n"+spec+"  rules:\n  - "+strings.Join(rules, "\n  - ")+"\n")
}

// ruleRows use the parts of a policy other than places and signers. None of these parts may allow
// what the policy is meant to deny.
func ruleRows() map[string]tampering {
	const by = "{keys: [{path: platform.pub}], insecureIgnoreTlog: true}"
	const byFriend = "{keys: [{path: friend.pub}], insecureIgnoreTlog: true}"
	const open = "{match: '**', catalogs: {nothing: x}, runtimes: {nothing: x}}"
	policed := []string{"--policy", "policy.yaml"}
	// scripted publishes a catalog with one script. The platform signed both.
	scripted := func(s *scene) (catalog, script ocispec.Descriptor) {
		script = s.signedScript()
		return s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1'}"), script
	}
	return map[string]tampering{
		"a tag is moved to a digest that is denied": {func(s *scene) ([]string, func()) {
			bad := s.script("fns/label", evilScript, "bad")
			scripted(s)
			s.rules("", open, "{match: 'oci://HOST/fns/label"+pin(bad)+"', deny: it is evil}")
			return s.render(policed...), func() { s.script("fns/label", evilScript, "v1") }
		}, "fns/label:v1 .* is not trusted: .*policy.yaml:7 denies it: it is evil"},
		"a reference whose tag is denied gets a digest": {func(s *scene) ([]string, func()) {
			_, script := scripted(s)
			s.script("fns/label", goodScript, "old")
			s.rules("", open, "{match: 'oci://HOST/fns/label:old', deny: too old}")
			return s.render(policed...), func() { s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:old"+pin(script)+"'}") }
		}, "is not trusted: .*policy.yaml:7 denies it: too old"},
		"one of two groups no longer signs": {func(s *scene) ([]string, func()) {
			_, script := scripted(s)
			s.attach("fns/label", script, s.friend.both(script)...)
			s.rules("", "{match: '**', catalogs: {nothing: x}, runtimes: {cosign: ["+by+", "+byFriend+"]}}")
			return s.render(policed...), func() {
				s.strip("fns/label", script)
				s.attach("fns/label", script, s.friend.both(script)...)
			}
		}, "policy.yaml:6 asks for a signature by platform.pub"},
		"a key of two groups signs for both": {func(s *scene) ([]string, func()) {
			_, script := scripted(s)
			s.attach("fns/label", script, s.friend.both(script)...)
			both := "{keys: [{path: platform.pub}, {path: friend.pub}], insecureIgnoreTlog: true}"
			s.rules("", "{match: '**', catalogs: {nothing: x}, runtimes: {cosign: ["+by+", "+both+"]}}")
			return s.render(policed...), func() {
				s.strip("fns/label", script)
				s.attach("fns/label", script, s.platform.both(script)...)
			}
		}, "by different signers, but there are too few"},
		"a function moves to a place with a laxer rule": {func(s *scene) ([]string, func()) {
			scripted(s)
			s.script("lax/label", evilScript, "v1")
			s.rules("", open, "{match: 'oci://HOST/lax/**', runtimes: {nothing: lax}}", "{match: '**', functions: example.com/Label, runtimes: {cosign: "+by+"}}")
			return s.render(policed...), func() { s.signedCatalog("Label", "{starlark: 'oci://HOST/lax/label:v1'}") }
		}, "lax/label:v1 .* is not trusted: .*policy.yaml:8 asks for a signature by platform.pub"},
		"a policy in audit mode and one that is enforced": {func(s *scene) ([]string, func()) {
			_, script := scripted(s)
			s.rules("  mode: audit\n", "{match: '**', catalogs: {nothing: x}, runtimes: {nothing: x}}")
			return s.render("--policy", "policy.yaml", "--key", "platform.pub"), func() { s.strip("fns/label", script) }
		}, "flags --key asks for a signature by platform.pub"},
		"other bytes under a policy in audit mode": {func(s *scene) ([]string, func()) {
			script := s.signedScript()
			s.signedCatalog("Label", "{starlark: {uri: 'oci://HOST/fns/label:v1', sha256: "+s.layer("fns/label", script).Digest.Encoded()+"}}")
			s.rules("  mode: audit\n", "{match: '**', catalogs: {nothing: x}, runtimes: {cosign: "+byFriend+"}}")
			return s.render(policed...), func() { s.script("fns/label", evilScript, "v1") }
		}, "the catalog promises sha256 [0-9a-f]{64}, the file has [0-9a-f]{64}"},
		"an exemption ends": {func(s *scene) ([]string, func()) {
			scripted(s)
			until := func(day string) {
				s.rules("", "{match: '**', catalogs: {nothing: {reason: for now, until: "+day+"}}, runtimes: {nothing: x}}")
			}
			until("2999-12-31")
			return s.render(policed...), func() { until("2001-12-31") }
		}, `policy.yaml:6 exempted it \(for now\), and the exemption expired: it was valid until 2001-12-31`},
		"the same identity from another repository": extended(map[int]string{12: "https://example.com/fork", 14: "refs/tags/v1"},
			"wanted sourceRepositoryURI https://example.com/functions"),
		"the same identity from a branch": extended(map[int]string{12: "https://example.com/functions", 14: "refs/heads/main"},
			"wanted sourceRepositoryRef /refs/tags/v.*/"),
		"the same identity without a repository in its certificate": extended(nil, "the certificate has no sourceRepositoryRef"),
		"an old signature of the same identity":                     older(),
	}
}

// ofRepository returns the certificate extensions that the policy of extended requires.
func ofRepository() map[int]string {
	return map[int]string{12: "https://example.com/functions", 14: "refs/tags/v1"}
}

// extended has alice sign with a certificate that has other extensions.
func extended(says map[int]string, want string) tampering {
	return byAlice("extensions: {sourceRepositoryURI: 'https://example.com/functions', sourceRepositoryRefRegExp: refs/tags/v.*}", sigtest.Behaviour{Extensions: says}, want)
}

// older has alice make a signature with an old date.
func older() tampering {
	long := sigtest.Behaviour{CertificateAge: oldCertificate, LogAge: oldEntry, Extensions: ofRepository()}
	return byAlice("extensions: {sourceRepositoryURI: 'https://example.com/functions'}", long, `it was made at .* \(transparency log\), wanted .* or later`)
}

// byAlice is a script that alice signed, a policy with further requirements, and another signature
// that replaces hers.
func byAlice(more string, then sigtest.Behaviour, want string) tampering {
	return tampering{func(s *scene) ([]string, func()) {
		store := sigtest.New(s.t)
		store.Write(s.dir, alice())
		d := s.script("fns/label", goodScript, "v1")
		c := sigtest.Claim{Who: alice(), Digest: d.Digest, Reference: "registry.example.com/fns/label"}
		both := func() []registry.Attachment { return []registry.Attachment{store.Bundle(c), store.Legacy(c)} }
		store.Behave(sigtest.Behaviour{Extensions: ofRepository()})
		s.attach("fns/label", d, both()...)
		s.rules("", "{match: '**', catalogs: {nothing: x}, runtimes: {cosign: {identities: [{subject: "+alice().Subject+", issuer: '"+alice().Issuer+"', "+more+"}],"+
			" notBefore: '"+recently()+"', trustedRoot: {path: trusted_root.json}}}}")
		return []string{"verify", "--policy", "policy.yaml", label}, func() {
			s.strip("fns/label", d)
			store.Behave(then)
			s.attach("fns/label", d, both()...)
		}
	}, want}
}

// Ages of old signatures, in hours. The authorities of sigtest are valid that long ago.
const (
	oldCertificate = 2 * time.Hour
	oldEntry       = oldCertificate - time.Minute
)

// recently returns a time before the test, and after old signatures were made.
func recently() string { return time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) }
