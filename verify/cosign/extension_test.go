package cosign_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// workflow has the extensions that Fulcio writes for tokens of GitHub.
func workflow() map[int]string {
	return map[int]string{
		2: "push", 5: "vendor/functions", 6: "refs/tags/v1.2.0",
		9: "https://github.com/vendor/functions/.github/workflows/release.yaml@refs/tags/v1.2.0", 11: "github-hosted",
		12: "https://github.com/vendor/functions", 14: "refs/tags/v1.2.0", 16: "https://github.com/vendor",
	}
}

// TestExtensions compares the extensions of certificates with a demand, in both forms.
func TestExtensions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says   map[int]string
		wants  map[string]string
		reason string // "" for accepted
	}{
		"exact":         {workflow(), map[string]string{"sourceRepositoryURI": "https://github.com/vendor/functions", "runnerEnvironment": "github-hosted", "githubWorkflowRef": "refs/tags/v1.2.0"}, ""},
		"an expression": {workflow(), map[string]string{"sourceRepositoryRefRegExp": `refs/tags/v1\..*`, "buildSignerURIRegExp": `.*/release\.yaml@.*`}, ""},
		"another repository": {workflow(), map[string]string{"sourceRepositoryURI": "https://github.com/vendor/other"},
			"the certificate has sourceRepositoryURI https://github.com/vendor/functions, wanted sourceRepositoryURI https://github.com/vendor/other"},
		"a branch where a tag is wanted": {map[int]string{14: "refs/heads/refs/tags/v1"}, map[string]string{"sourceRepositoryRefRegExp": "refs/tags/v.*"},
			"the certificate has sourceRepositoryRef refs/heads/refs/tags/v1, wanted sourceRepositoryRef /refs/tags/v.*/"},
		"an expression for a part":      {workflow(), map[string]string{"sourceRepositoryURIRegExp": "vendor"}, "wanted sourceRepositoryURI /vendor/"},
		"an expression with a choice":   {workflow(), map[string]string{"sourceRepositoryRefRegExp": "x|refs"}, "wanted sourceRepositoryRef /x|refs/"},
		"a field that is not there":     {nil, map[string]string{"sourceRepositoryURI": "https://github.com/vendor/functions"}, "the certificate has no sourceRepositoryURI"},
		"a field that is not there, .*": {nil, map[string]string{"sourceRepositoryURIRegExp": ".*"}, "the certificate has no sourceRepositoryURI"},
		"the older field for the newer": {map[int]string{6: "refs/tags/v1"}, map[string]string{"sourceRepositoryRef": "refs/tags/v1"}, "the certificate has no sourceRepositoryRef"},
		"one of two": {workflow(), map[string]string{"runnerEnvironment": "self-hosted", "sourceRepositoryURI": "https://github.com/vendor/functions"},
			"the certificate has runnerEnvironment github-hosted, wanted runnerEnvironment self-hosted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(sigtest.Behaviour{Extensions: tc.says})
			d := byIdentity(s)
			d.Identities[0].Extensions = tc.wants
			claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a"}
			for _, made := range []registry.Attachment{s.Bundle(claim), s.Legacy(claim)} {
				v := judge(t, build(t, d), subject, made)
				if tc.reason != "" {
					refused(t, v, tc.reason)
					continue
				}
				accepted(t, v)
			}
		})
	}
}

// TestExtensionOfOneIdentity checks that extensions are required only of the identity that has
// them.
func TestExtensionOfOneIdentity(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	d := byIdentity(s,
		cosign.Identity{Subject: "bob@example.com", Issuer: issuer},
		cosign.Identity{Subject: alice().Subject, Issuer: issuer, Extensions: map[string]string{"sourceRepositoryURI": "https://github.com/vendor/functions"}})
	made := s.Bundle(sigtest.Claim{Who: alice(), Digest: subject})
	refused(t, judge(t, build(t, d), subject, made), "the certificate has no sourceRepositoryURI")
	accepted(t, judge(t, build(t, d), subject, s.Bundle(sigtest.Claim{Who: sigtest.Identity{Subject: "bob@example.com", Issuer: issuer}, Digest: subject})))
}

// TestThresholdOfExtensions checks that one signer who satisfies two entries with different
// extensions counts once.
func TestThresholdOfExtensions(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	from := func(who, place string) registry.Attachment {
		s.Behave(sigtest.Behaviour{Extensions: map[int]string{12: place}})
		return s.Bundle(sigtest.Claim{Who: sigtest.Identity{Subject: who, Issuer: issuer}, Digest: subject})
	}
	one, two, bob := from(alice().Subject, "https://one.example"), from(alice().Subject, "https://two.example"), from("bob@example.com", "https://two.example")
	entry := func(place string) cosign.Identity {
		return cosign.Identity{SubjectRegExp: ".*@example.com", Issuer: issuer, Extensions: map[string]string{"sourceRepositoryURI": place}}
	}
	d := byIdentity(s, entry("https://one.example"), entry("https://two.example"))
	d.Threshold = 2
	if v := judge(t, build(t, d), subject, one, two); len(v.Reasons) == 0 ||
		!strings.HasPrefix(v.Reasons[0].Text, "1 of 2 signatures needed") || !strings.HasSuffix(v.Reasons[0].Text, ", a signer of several of these counts once") {
		t.Errorf("one person counts twice: %+v", v)
	}
	accepted(t, judge(t, build(t, d), subject, one, bob))
	accepted(t, judge(t, build(t, d), subject, one, two, bob))
}

// TestExtensionNames checks that the names are those of sigstore.
func TestExtensionNames(t *testing.T) {
	t.Parallel()
	_, err := local().Judge(section(t, "identities: [{extensions: {unheardOf: x}}]"), nil)
	if err == nil {
		t.Fatal("it was read")
	}
	_, list, _ := strings.Cut(err.Error(), "known are ")
	known := strings.Split(list, ", ")
	var want []string
	fields := reflect.TypeFor[certificate.Extensions]()
	for i := range fields.NumField() {
		if name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ","); name != "issuer" {
			want = append(want, name, name+"RegExp")
		}
	}
	if !slices.Equal(known, want) {
		t.Errorf("a policy may write %v\nsigstore has %v", known, want)
	}
}

// TestNotBefore checks that signatures made before the time, and those without a verified time, are
// not accepted.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tc := range map[string]struct {
		does    sigtest.Behaviour
		stamped bool
		demand  func(*cosign.Demand)
		since   time.Duration // before now
		bundle  string
		legacy  string
	}{
		"after":                    {since: hour},
		"long after, and long ago": {does: sigtest.Behaviour{CertificateAge: 2 * hour, LogAge: 2*hour - time.Minute}, since: 3 * hour},
		"before":                   {does: sigtest.Behaviour{CertificateAge: 2 * hour, LogAge: 2*hour - time.Minute}, since: hour, bundle: "it was made at ", legacy: "it was made at "},
		"before, and stamped now": { // an old signature with a new log entry
			does: sigtest.Behaviour{CertificateAge: 2 * time.Minute, LogAge: 0}, since: time.Minute, bundle: "its certificate was issued at ", legacy: "its certificate was issued at ",
		},
		"by a timestamp": {stamped: true, since: hour, demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog = true }},
		"before, by a timestamp": {
			does: sigtest.Behaviour{CertificateAge: 2 * hour, StampAge: 2*hour - 3*time.Minute}, stamped: true, since: hour,
			demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog = true }, bundle: "(timestamp authority), wanted ", legacy: "(timestamp authority), wanted ",
		},
		"nobody saw it": {
			since: hour, demand: func(d *cosign.Demand) { d.InsecureIgnoreTlog, d.InsecureIgnoreTimestamp = true, true },
			bundle: "no trusted source attests when it was made, and ", legacy: "no trusted source attests when it was made, and ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(tc.does)
			d := byIdentity(s)
			d.NotBefore = time.Now().Add(-tc.since)
			if tc.demand != nil {
				tc.demand(&d)
			}
			claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a", Timestamp: tc.stamped}
			for form, made := range map[string]registry.Attachment{"bundle": s.Bundle(claim), "legacy": s.Legacy(claim)} {
				reason := tc.bundle
				if form == "legacy" {
					reason = tc.legacy
				}
				v := judge(t, build(t, d), subject, made)
				if reason != "" {
					refused(t, v, reason)
					continue
				}
				accepted(t, v)
			}
		})
	}
}

// TestNotBeforeIsForIdentities checks that notBefore is an error for keys: nothing proves when a
// key was used.
func TestNotBeforeIsForIdentities(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	d := byIdentity(s)
	d.Keys, d.NotBefore = byKey(t, "cosign").Keys, time.Now()
	if _, err := local().Build(d); err == nil || !strings.Contains(err.Error(), "notBefore: it is for identities") {
		t.Error(err)
	}
}

// TestKeysByURL checks the hints for keys that are URLs.
func TestKeysByURL(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"awskms:///alias/release":         "cosign public-key --key awskms:///alias/release > NAME.pub",
		"azurekms://v.example/k":          "cosign public-key --key azurekms://v.example/k",
		"gcpkms://projects/p/locations/l": "is a key in a key service, which krmcat does not use",
		"hashivault://release":            "write the public key to a file once",
		"HashiVault://release":            "write the public key to a file once",
		"k8s://ns/secret":                 "is a key in a cluster",
		"env://COSIGN_PUBLIC_KEY":         "a key in the environment, which krmcat does not use for trust",
		"pkcs11:token=x":                  "is a key in a token",
		"https://example.com/cosign.pub":  "is not fetched",
		"ftp://example.com/cosign.pub":    "is a URL, and keys are files",
	} {
		_, err := local().Judge(section(t, "keys: [{path: '"+path+"'}]\ninsecureIgnoreTlog: true"), func(string) ([]byte, error) {
			t.Errorf("%s is read", path)
			return nil, nil
		})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "keys[0].path") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"cosign.pub", "keys/awskms.pub", `C:\keys\cosign.pub`, "/etc/keys/a:b.pub"} {
		if err := cosign.KeyURL(path); err != nil {
			t.Error(err)
		}
	}
}

// TestNotesOfDemands checks the notes about disabled checks and unanchored expressions.
func TestNotesOfDemands(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	d := byIdentity(s, cosign.Identity{SubjectRegExp: ".*@example.com", IssuerRegExp: "^https://.*$", Extensions: map[string]string{"sourceRepositoryRefRegExp": "refs/tags/.*", "buildTrigger": "push"}})
	d.InsecureIgnoreTlog, d.InsecureIgnoreSCT, d.InsecureIgnoreTimestamp = true, true, true
	j, ok := build(t, d).(verify.Noting)
	if !ok {
		t.Fatal("it has no notes")
	}
	got := strings.Join(j.Notes(), "\n")
	for _, want := range []string{"insecureIgnoreTlog: ", "insecureIgnoreSCT: ", "insecureIgnoreTimestamp: ", "subjectRegExp .*@example.com has no ^ and $", "sourceRepositoryRefRegExp refs/tags/.* has no ^ and $"} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
	if n := len(j.Notes()); n != 5 {
		t.Errorf("%d notes: %s", n, got)
	}
	if j, ok := build(t, byIdentity(s)).(verify.Noting); !ok || len(j.Notes()) > 0 {
		t.Error(j.Notes())
	}
}

// TestACertificateBesideAKey checks that the identity in a certificate beside a signature by key is
// not reported as the signer: anybody who can write to the registry can add one.
func TestACertificateBesideAKey(t *testing.T) {
	t.Parallel()
	bogus := sigtest.New(t).Legacy(sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a"})
	found := golden(t, "v2-cosign")
	found = with(found, "dev.sigstore.cosign/certificate", bogus.Files[0].Annotations["dev.sigstore.cosign/certificate"])
	got := accepted(t, judge(t, build(t, byKey(t, "cosign")), subject, found))
	if got.Identity != "" || got.Issuer != "" || strings.Contains(got.String(), alice().Subject) {
		t.Errorf("a key signed, and it is said to be %s", got)
	}
}
