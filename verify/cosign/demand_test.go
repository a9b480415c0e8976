package cosign_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// files reads from testdata, and returns some other files.
func files(t testing.TB, more map[string][]byte) func(string) ([]byte, error) {
	t.Helper()
	return func(path string) ([]byte, error) {
		if b, ok := more[path]; ok {
			return b, nil
		}
		return os.ReadFile("testdata/" + path)
	}
}

func section(t testing.TB, text string) *yaml.RNode {
	t.Helper()
	n, err := yaml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSection decodes sections of policies, and judges signatures by them.
func TestSection(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	read := files(t, map[string][]byte{"root.json": s.TrustedRoot()})
	made := s.Bundle(sigtest.Claim{Who: alice(), Digest: subject, Annotations: map[string]string{"env": "prod"}})
	j, err := local().Judge(section(t, `
threshold: 2
keys:
- name: platform
  path: cosign.pub
- data: |
`+indent(string(read2(t, read, "ed.pub")))+`
identities:
- subject: alice@example.com
  issuerRegExp: https://.*\.example\.com
trustedRoot: {path: root.json}
annotations: {env: prod}
formats: [bundle]
insecureIgnoreTlog: true
insecureIgnoreSCT: true
insecureIgnoreTimestamp: true
`), read)
	if err != nil {
		t.Fatal(err)
	}
	want := "2 of the signers platform (sha256:882f6c451404…), sha256:98fb540652b3…, alice@example.com of /https://.*\\.example\\.com/ with env=prod"
	if got := j.String(); got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	accepted(t, judge(t, j, subject, made, golden(t, "v3-ed")))
	if v := judge(t, j, subject, made, golden(t, "v2-ed")); len(v.Reasons) == 0 {
		t.Errorf("the legacy form counts: %+v", v)
	}
}

func read2(t *testing.T, read func(string) ([]byte, error), path string) []byte {
	t.Helper()
	b, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

// TestSectionErrors checks the errors in sections, with lines.
func TestSectionErrors(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	odd, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one := string(read(t, "cosign.pub"))
	more := map[string][]byte{
		"root.json": s.TrustedRoot(), "small.pub": public(t, small.Public()), "odd.pub": public(t, odd.Public()),
		"empty": {}, "two.pub": []byte(one + string(read(t, "ed.pub"))), "b/cosign.pub": []byte(one),
		"many.pub":  []byte(strings.Repeat("x", 100_000)),
		"bare.json": []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`),
	}
	const key, ignored = "keys: [{path: cosign.pub}]\n", "insecureIgnoreTlog: true\n"
	for text, want := range map[string]string{
		"{}":                                  "cosign.keys: neither keys nor identities",
		"null":                                "cosign.keys: neither keys nor identities",
		"[]":                                  "cosign: must be a mapping",
		"keys: {}":                            "line 1: cosign.keys: must be a list",
		key + "unknwon: 1":                    "line 2: cosign: unknown field \"unknwon\"",
		key + "threshhold: 1":                 "line 2: cosign: unknown field \"threshhold\", did you mean \"threshold\"?",
		key + "keys: []":                      "line 2: cosign.keys: it is given twice",
		key:                                   "cosign.trustedRoot: give the one with the transparency log that signatures by key have to be in, or say insecureIgnoreTlog: true",
		key + ignored + "threshold: two":      "line 3: cosign.threshold: it has to be a number",
		key + ignored + "threshold: 0":        "line 3: cosign.threshold: it has to be a number",
		key + ignored + "threshold: '1'":      "line 3: cosign.threshold: it has to be a number",
		key + ignored + "threshold: 2":        "line 3: cosign.threshold: it asks for 2 signers, and there are 1",
		key + "insecureIgnoreTlog: 'true'":    "line 2: cosign.insecureIgnoreTlog: must be true or false",
		key + ignored + "annotations: {a: 1}": "line 3: cosign.annotations.a: must be a string, not a number, quote it",
		key + ignored + "annotations: {a: }":  "line 3: cosign.annotations: a has no value",
		key + ignored + "annotations: {a: b, a: c}":                                                       "line 3: cosign.annotations.a: it is given twice",
		key + ignored + "annotations: {'': b}":                                                            "line 3: cosign.annotations: one has no name",
		key + ignored + "annotations: [a]":                                                                "line 3: cosign.annotations: must be a mapping",
		key + ignored + "formats: [v3]":                                                                   `line 3: cosign.formats[0]: "v3" is not a form of a signature`,
		key + "trustedRoot: {path: bare.json}":                                                            "line 2: cosign.trustedRoot: it has no transparency log",
		key + "trustedRoot: {path: cosign.pub}":                                                           "line 2: cosign.trustedRoot: it is not a trusted root of sigstore",
		key + "trustedRoot: {}":                                                                           "line 2: cosign.trustedRoot: it needs either a path or data",
		key + "trustedRoot: root.json":                                                                    "line 2: cosign.trustedRoot: must be a mapping",
		ignored + "keys:\n- {path: cosign.pub}\n- {path: b/cosign.pub}":                                   "line 4: cosign.keys[1]: it is the same key as keys[0]",
		ignored + "keys:\n- {path: cosign.pub, name: a}\n- {path: ed.pub, name: a}":                       `line 4: cosign.keys[1]: keys[0] is called "a" too`,
		ignored + "keys:\n- {path: nowhere}":                                                              "line 3: cosign.keys[0].path: open",
		ignored + "keys:\n- {path: empty}":                                                                "line 3: cosign.keys[0].path: empty is empty",
		ignored + "keys:\n- {path: 1}":                                                                    "line 3: cosign.keys[0].path: must be a string, not a number, quote it",
		ignored + "keys:\n- {name: a}":                                                                    "line 3: cosign.keys[0]: it needs either a path or data",
		ignored + "keys:\n- {path: a, data: b}":                                                           "line 3: cosign.keys[0]: it needs either a path or data",
		ignored + "keys:\n- {data: b}":                                                                    "line 3: cosign.keys[0]: it is not a public key in PEM format",
		ignored + "keys:\n- {path: small.pub}":                                                            "line 3: cosign.keys[0]: it is an RSA key of 1024 bits, want 2048",
		ignored + "keys:\n- {path: odd.pub}":                                                              "line 3: cosign.keys[0]: it is an ECDSA key of curve P-224",
		ignored + "keys:\n- {path: two.pub}":                                                              "line 3: cosign.keys[0]: it contains more than one key",
		ignored + "keys:\n- {path: many.pub}":                                                             "line 3: cosign.keys[0]: it has 100000 bytes",
		ignored + "keys:\n- {path: cosign.key}":                                                           "line 3: cosign.keys[0]: it is a private key",
		"identities: [{subject: a, issuer: b}]":                                                           "cosign.trustedRoot: identities need one",
		"identities: [{subject: a}]":                                                                      "line 1: cosign.identities[0]: it needs either an issuer",
		"identities: [{issuer: a}]":                                                                       "line 1: cosign.identities[0]: it needs either a subject",
		"identities: [{issuer: a, subject: a, subjectRegExp: a}]":                                         "line 1: cosign.identities[0]: it needs either a subject",
		"identities: [{issuerRegExp: '(', subject: a}]":                                                   "line 1: cosign.identities[0]: issuerRegExp: error parsing",
		"identities: [{issuer: a, subjectRegExp: 'a)|(?:b'}]":                                             "line 1: cosign.identities[0]: subjectRegExp: error parsing",
		"identities: [{issuer: a, subjectRegExp: '" + strings.Repeat("a", 2000) + "'}]":                   "it has 2000 characters",
		"identities:\n- {subject: a, issuer: b}\n- {subject: a, issuer: b}":                               "line 3: cosign.identities[1]: it is the same identity",
		"trustedRoot: {path: bare.json}\ninsecureIgnoreTlog: true\nidentities: [{subject: a, issuer: b}]": "line 1: cosign.trustedRoot: it has no certificate authority",
	} {
		t.Run(text[:min(len(text), 60)], func(t *testing.T) {
			t.Parallel()
			_, err := local().Judge(section(t, text), files(t, more))
			var e *yamldoc.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	if _, err := local().Judge(section(t, "keys: [{path: a}]"), nil); err == nil || !strings.Contains(err.Error(), "there are no files here") {
		t.Errorf("without files: %v", err)
	}
}

// TestSectionWithoutValue omits the value of each field in turn: an empty value is an error, not
// the default.
func TestSectionWithoutValue(t *testing.T) {
	t.Parallel()
	const key = "keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: true\n"
	for text, want := range map[string]string{
		"keys:\ninsecureIgnoreTlog: true":                 "line 1: cosign.keys: it has no value",
		key + "identities:":                               "line 3: cosign.identities: it has no value",
		key + "threshold:":                                "line 3: cosign.threshold: it has no value",
		key + "threshold: ~":                              "line 3: cosign.threshold: it has no value",
		key + "formats: null":                             "line 3: cosign.formats: it has no value",
		key + "annotations:":                              "line 3: cosign.annotations: it has no value",
		key + "trustedRoot:":                              "line 3: cosign.trustedRoot: it has no value",
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog:": "line 2: cosign.insecureIgnoreTlog: it has no value",
		key + "insecureIgnoreSCT:":                        "line 3: cosign.insecureIgnoreSCT: it has no value",
		key + "insecureIgnoreTimestamp:":                  "line 3: cosign.insecureIgnoreTimestamp: it has no value",
		"keys:\n- {path: cosign.pub, name: }\ninsecureIgnoreTlog: true": "line 2: cosign.keys[0].name: it has no value",
		"keys:\n- {path: cosign.pub, data: }\ninsecureIgnoreTlog: true": "line 2: cosign.keys[0].data: it has no value",
		key + "identities:\n- {subject: a, issuer: b, issuerRegExp: }":  "line 4: cosign.identities[0].issuerRegExp: it has no value",
		key + "trustedRoot: {path: root.json, data: }":                  "line 3: cosign.trustedRoot.data: it has no value",
		key + "formats: [~]":                                            `line 3: cosign.formats[0]: "" is not a form`,
		"keys: [~]\ninsecureIgnoreTlog: true":                           "line 1: cosign.keys[0]: it needs either a path or data",
		key + "formats: [true]":                                         "line 3: cosign.formats[0]: must be a string, not a boolean, quote it",
		key + "identities:\n- {subject: 7, issuer: b}":                  "line 4: cosign.identities[0].subject: must be a string, not a number, quote it",
		key + "identities:\n- {subject: a, issuer: true}":               "line 4: cosign.identities[0].issuer: must be a string, not a boolean, quote it",
		key + "identities:\n- {subjectRegExp: 2026-01-01, issuer: b}":   "line 4: cosign.identities[0].subjectRegExp: must be a string, not a date, quote it",
		key + "trustedRoot: {data: 1}":                                  "line 3: cosign.trustedRoot.data: must be a string, not a number, quote it",
		"keys: [{path: cosign.pub, name: 1}]\ninsecureIgnoreTlog: true": "line 1: cosign.keys[0].name: must be a string, not a number, quote it",
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: yes":           "line 2: cosign.insecureIgnoreTlog: must be true or false",
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: !!bool yes":    "line 2: cosign.insecureIgnoreTlog: must be true or false",
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: 1":             "line 2: cosign.insecureIgnoreTlog: must be true or false",
		"keys: [{path: cosign.pub}]\ninsecureIgnoreTlog: [true]":        "line 2: cosign.insecureIgnoreTlog: must be true or false",
		key + "threshold: ''":                                           "line 3: cosign.threshold: it has to be a number, 1 or more",
		key + "threshold: true":                                         "line 3: cosign.threshold: it has to be a number, 1 or more",
		"keys: [{path: ''}]\ninsecureIgnoreTlog: true":                  "line 1: cosign.keys[0]: it needs either a path or data",
		key + "trustedRoot: {path: ''}":                                 "line 3: cosign.trustedRoot: it needs either a path or data",
		key + "identities:\n- {subject: '', issuer: b}":                 "line 4: cosign.identities[0]: it needs either a subject",
		key + "annotations: {a: true}":                                  "line 3: cosign.annotations.a: must be a string, not a boolean, quote it",
		key + "annotations: {a: [b]}":                                   "line 3: cosign.annotations.a: must be a string",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := local().Judge(section(t, text), files(t, nil))
			var e *yamldoc.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func public(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestDemandLimits(t *testing.T) {
	t.Parallel()
	keys, ids, annotations := byKey(t, "cosign"), byKey(t, "cosign"), byKey(t, "cosign")
	for i := range 40 {
		keys.Keys = append(keys.Keys, keys.Keys[0])
		ids.Identities = append(ids.Identities, cosign.Identity{Subject: fmt.Sprint(i), Issuer: "b"})
	}
	annotations.Annotations = map[string]string{}
	for i := range 70 {
		annotations.Annotations[fmt.Sprint(i)] = "x"
	}
	root, negative := byKey(t, "cosign"), byKey(t, "cosign")
	root.TrustedRoot, negative.Threshold = make([]byte, 5<<20), -1
	for want, d := range map[string]cosign.Demand{
		"keys: there are 41":        keys,
		"identities: there are 40":  ids,
		"annotations: there are 70": annotations,
		"trustedRoot: it has":       root,
		"threshold: it has to be":   negative,
	} {
		if _, err := local().Build(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestStringOfJudge(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]cosign.Demand{
		"a signature by cosign.pub (sha256:882f6c451404…)":                                       byKey(t, "cosign"),
		"a signature by one of cosign.pub (sha256:882f6c451404…), ed.pub (sha256:98fb540652b3…)": byKey(t, "cosign", "ed"),
	} {
		if got := build(t, d).String(); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

func TestJudgeGivesUp(t *testing.T) {
	t.Parallel()
	j := build(t, byKey(t, "cosign"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := j.Judge(ctx, subject, []registry.Attachment{golden(t, "v3-cosign")}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := j.Judge(context.Background(), "x", nil); err == nil {
		t.Error("what is no digest is judged")
	}
}
