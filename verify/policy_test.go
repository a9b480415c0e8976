package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// stamp is a method of verification for tests of policies. Its section is a name, and an artifact
// is signed if an annotation of its manifest has this name.
type stamp struct{ judged *atomic.Int32 }

func (stamp) Name() string { return "stamp" }

func (s stamp) Judge(section *yaml.RNode, _ verify.ReadFile) (verify.Judge, error) {
	if section == nil {
		return stampJudge{"", s.judged}, nil
	}
	if section.YNode().Value == "broken" {
		return nil, errors.New("broken section")
	}
	return stampJudge{section.YNode().Value, s.judged}, nil
}

type stampJudge struct {
	name   string
	judged *atomic.Int32
}

func (j stampJudge) String() string { return "the stamp of " + j.name }
func (j stampJudge) Query(digest.Digest) registry.Query {
	return registry.Query{Tags: []string{"stamp"}}
}

func (j stampJudge) Judge(_ context.Context, d digest.Digest, found []registry.Attachment) (verify.Verdict, error) {
	j.judged.Add(1)
	var v verify.Verdict
	for _, a := range found {
		by := a.Annotations["by"]
		v.Signatures = append(v.Signatures, verify.Signature{Form: "stamp", Subject: d, Signer: by, Verified: by == j.name})
		if by == j.name {
			return v, nil
		}
	}
	v.Reasons = verify.Because("no stamp of " + j.name)
	return v, nil
}

// shop is a layout on disk with artifacts, some of which are stamped.
type shop struct {
	client *registry.Client
	dir    string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &shop{client, t.TempDir()}
}

// push returns an artifact in a repository of its own.
func (s *shop) push(t *testing.T, name, by string) registry.Artifact {
	t.Helper()
	l := reference.Locator{Scheme: reference.SchemeLayout, Name: s.dir + "/" + name, Tag: "v1"}
	a, err := s.client.Push(t.Context(), l, registry.Bundle{
		Role: mediatypes.RoleStarlark, Files: []registry.File{{Title: "f.star", Data: []byte("x = '" + name + "'\n")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if by != "" {
		_, err := s.client.Attach(t.Context(), l, a.Root, registry.Attachment{
			Tag: "stamp", Annotations: map[string]string{"by": by},
			Files: []registry.AttachedFile{{Data: []byte("stamped")}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err = s.client.Resolve(t.Context(), l, registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func decodePolicy(t *testing.T, rules string) (*verify.TrustPolicy, *atomic.Int32) {
	t.Helper()
	judged := &atomic.Int32{}
	doc := "apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nmetadata: {name: p}\nspec:\n  rules:\n" + rules
	p, err := verify.Decoder{Methods: []verify.Method{stamp{judged}}}.Decode("policy.yaml", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return p, judged
}

func TestRules(t *testing.T) {
	t.Parallel()
	vouched := []verify.Evidence{{Method: "stamp", Detail: "signed by ann", Vouches: true}}
	unvouched := []verify.Evidence{{Method: "exempt", Detail: "for once"}}
	const annEverywhere = "  - {match: '**', catalogs: {stamp: ann}, runtimes: {stamp: ann}}\n"
	for _, c := range []struct {
		name    string
		rules   string // DIR is replaced by the directory of the shop
		use     verify.Use
		by      string // who stamped it
		pin     bool
		catalog []verify.Evidence
		want    string // part of the refusal; "" for trusted
		method  string // part of the evidence
	}{
		{"signed catalog", annEverywhere, verify.UseCatalog, "ann", false, nil, "", "stamp"},
		{"catalog signed by another", annEverywhere, verify.UseCatalog, "bob", false, nil, "no stamp of ann", ""},
		{"catalog signed by nobody", annEverywhere, verify.UseCatalog, "", false, nil, "no stamp of ann", ""},
		{"a digest does not replace a signature", annEverywhere, verify.UseCatalog, "", true, nil, "no stamp of ann", ""},
		{"unpinned runtime needs its own", annEverywhere, verify.UseScript, "", false, vouched, "no stamp of ann", ""},
		{"unpinned runtime has its own", annEverywhere, verify.UseScript, "ann", false, vouched, "", "stamp"},
		{"pinned by a verified catalog", annEverywhere, verify.UseScript, "", true, vouched, "", "chain"},
		{"pinned by a catalog that nobody vouches for", annEverywhere, verify.UseScript, "", true, unvouched, "no stamp of ann", ""},
		{"pinned, and the policy wants more", "  - {match: '**', runtimes: {stamp: ann, ownSignature: true}}\n", verify.UseScript, "", true, vouched, "no stamp of ann", ""},
		{"pinned and signed, and the policy wants more", "  - {match: '**', runtimes: {stamp: ann, ownSignature: true}}\n", verify.UseScript, "ann", true, vouched, "", "stamp"},
		{"a signature does not pin a program", annEverywhere, verify.UseProgram, "ann", false, vouched, "neither a sha256 nor a digest", ""},
		{"no rule matches", "  - {match: 'oci://example.com/**', catalogs: {stamp: ann}}\n", verify.UseCatalog, "ann", true, nil, "no rule of p (policy.yaml) applies to it", ""},
		{"the rule is for runtimes", "  - {match: '**', runtimes: {stamp: ann}}\n", verify.UseCatalog, "ann", true, nil, "no rule of p", ""},
		{"no rule for a runtime that is pinned", "  - {match: '**', catalogs: {stamp: ann}}\n", verify.UseScript, "", true, vouched, "", "chain"},
		{"no rule for a runtime that is not", "  - {match: '**', catalogs: {stamp: ann}}\n", verify.UseScript, "ann", false, vouched, "and no verified catalog pins it", ""},
		{"nothing, with a reason", "  - {match: '**', catalogs: {nothing: we test here}}\n", verify.UseCatalog, "", false, nil, "", "exempt"},
		{"the more specific rule is stricter", annEverywhere + "  - {match: 'oci-layout://DIR/**', catalogs: {stamp: cid}}\n", verify.UseCatalog, "ann", false, nil, "no stamp of cid", ""},
		{"the more specific rule is laxer", annEverywhere + "  - {match: 'oci-layout://DIR/**', catalogs: {nothing: ours}}\n", verify.UseCatalog, "", false, nil, "", "exempt"},
		{"the more specific rule is silent on catalogs", annEverywhere + "  - {match: 'oci-layout://DIR/**', runtimes: {nothing: ours}}\n", verify.UseCatalog, "", false, nil, "no stamp of ann", ""},
		{"of two alike the first", "  - {match: '**', catalogs: {stamp: ann}}\n  - {match: '**', catalogs: {nothing: later}}\n", verify.UseCatalog, "", false, nil, "no stamp of ann", ""},
		{"digests, given", "  - {match: '**', catalogs: {digests: true}}\n", verify.UseCatalog, "", true, nil, "", "pinned"},
		{"digests, not given", "  - {match: '**', catalogs: {digests: true}}\n", verify.UseCatalog, "", false, nil, "asks for a digest", ""},
		{"digests and a signature", "  - {match: '**', catalogs: {digests: true, stamp: ann}}\n", verify.UseCatalog, "ann", false, nil, "asks for a digest", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			a := s.push(t, "art", c.by)
			if c.pin {
				a.From.Digest = a.Root.Digest
			}
			doc, _ := decodePolicy(t, strings.ReplaceAll(c.rules, "DIR", s.dir))
			policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
			key, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, policy.Checkers(verify.Request{
				Use: c.use, Ref: a.From, By: "the catalog c", Catalog: c.catalog,
			})...)
			if c.want == "" {
				var methods []string
				for _, e := range key.Evidence() {
					methods = append(methods, e.Method)
				}
				if err != nil || !strings.Contains(strings.Join(methods, " "), c.method) {
					t.Fatalf("want evidence %s, got %v and %v", c.method, methods, err)
				}
				return
			}
			var untrusted *verify.UntrustedError
			if !errors.As(err, &untrusted) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want a refusal with %q, got %v", c.want, err)
			}
		})
	}
}

// TestAPinOfTheTargetVouchesForNothing checks that a digest in the target is no evidence for a
// policy.
func TestAPinOfTheTargetVouchesForNothing(t *testing.T) {
	t.Parallel()
	a := newShop(t).push(t, "art", "")
	a.From.Digest = a.Root.Digest
	for _, rules := range []string{"", "  - {match: '**', catalogs: {nothing: x}}\n", "  - {match: '**', catalogs: {digests: true}}\n"} {
		var policy verify.Policy
		if rules != "" {
			doc, _ := decodePolicy(t, rules)
			policy.Documents = []*verify.TrustPolicy{doc}
		}
		for _, strict := range []bool{false, true} {
			for _, byTarget := range []bool{false, true} {
				policy.RequireDigests = strict
				key, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, policy.Checkers(verify.Request{
					Use: verify.UseCatalog, Ref: a.From, By: "the flag", PinnedByTarget: byTarget,
				})...)
				if err != nil {
					t.Fatal(err)
				}
				vouched := slices.ContainsFunc(key.Evidence(), func(e verify.Evidence) bool { return e.Vouches })
				if vouched == byTarget {
					t.Errorf("rules %q, strict %v, pinned by the target %v: vouched for %v", rules, strict, byTarget, vouched)
				}
			}
		}
	}
}

// TestWhoVouchesForAMachine checks that a digest of the user's is evidence in the user's policies
// only, and a signature in the policy that requires it.
func TestWhoVouchesForAMachine(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	cat, fn := shop.push(t, "cat", "ann"), shop.push(t, "fn", "")
	cat.From.Digest, fn.From.Digest = cat.Root.Digest, fn.Root.Digest
	const runtimes = "  - {match: '**', runtimes: {stamp: cid}}\n"
	for demand, want := range map[string]struct{ own, machine bool }{
		"{nothing: x}":                {own: true},
		"{digests: true}":             {own: true},
		"{stamp: ann}":                {own: true, machine: true},
		"{stamp: ann, digests: true}": {own: true, machine: true},
	} {
		for _, machine := range []bool{false, true} {
			doc, _ := decodePolicy(t, runtimes+"  - {match: '**', catalogs: "+demand+"}\n")
			doc.Machine = machine
			policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
			key, err := verify.Verify(t.Context(), verify.Subject{Artifact: cat}, policy.Checkers(verify.Request{Use: verify.UseCatalog, Ref: cat.From, By: "the flag"})...)
			if err == nil {
				_, err = verify.Verify(t.Context(), verify.Subject{Artifact: fn}, policy.Checkers(verify.Request{Use: verify.UseScript, Ref: fn.From, By: "the catalog", Catalog: key.Evidence()})...)
			}
			if trusted := err == nil; trusted != (machine && want.machine || !machine && want.own) {
				t.Errorf("catalogs: %s, the machine's %v: trusted %v: %v", demand, machine, trusted, err)
			}
		}
	}
}

// TestEveryPolicyCounts checks that two policies both apply.
func TestEveryPolicyCounts(t *testing.T) {
	t.Parallel()
	a := newShop(t).push(t, "art", "ann")
	ann, _ := decodePolicy(t, "  - {match: '**', catalogs: {stamp: ann}}\n")
	cid, _ := decodePolicy(t, "  - {match: '**', catalogs: {stamp: cid}}\n")
	ask := verify.Request{Use: verify.UseCatalog, Ref: a.From, By: "b"}
	for _, docs := range [][]*verify.TrustPolicy{{ann, cid}, {cid, ann}} {
		_, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, verify.Policy{Documents: docs}.Checkers(ask)...)
		if err == nil || !strings.Contains(err.Error(), "no stamp of cid") {
			t.Errorf("one of two policies was enough: %v", err)
		}
	}
}

// TestJudgedOnce checks that signatures of an artifact are judged once.
func TestJudgedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a, b := s.push(t, "a", "ann"), s.push(t, "b", "ann")
	doc, judged := decodePolicy(t, "  - {match: '**', runtimes: {stamp: ann}}\n")
	policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
	for range 5 {
		for _, x := range []registry.Artifact{a, b} {
			_, err := verify.Verify(t.Context(), verify.Subject{Artifact: x}, policy.Checkers(verify.Request{Use: verify.UseScript, Ref: x.From})...)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := judged.Load(); n != 2 {
		t.Errorf("two artifacts were judged %d times", n)
	}
}

// TestTheSameBytesElsewhere checks that a signature in one repository is not evidence for another
// with the same content, even after the first was judged.
func TestTheSameBytesElsewhere(t *testing.T) {
	t.Parallel()
	signed, copied := newShop(t).push(t, "art", "ann"), newShop(t).push(t, "art", "")
	if signed.Root.Digest != copied.Root.Digest {
		t.Fatal("the two differ")
	}
	doc, _ := decodePolicy(t, "  - {match: '**', runtimes: {stamp: ann}}\n")
	policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
	for range 2 {
		for _, a := range []registry.Artifact{signed, copied} {
			_, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, policy.Checkers(verify.Request{Use: verify.UseScript, Ref: a.From})...)
			if trusted := err == nil; trusted != (a.From == signed.From) {
				t.Errorf("%s: %v", a.From, err)
			}
		}
	}
}

// TestGivingUpIsNoAnswer checks that a call after an interrupted one gets a verdict.
func TestGivingUpIsNoAnswer(t *testing.T) {
	t.Parallel()
	a := newShop(t).push(t, "art", "ann")
	doc, _ := decodePolicy(t, "  - {match: '**', runtimes: {stamp: ann}}\n")
	checkers := verify.Policy{Documents: []*verify.TrustPolicy{doc}}.Checkers(verify.Request{Use: verify.UseScript, Ref: a.From})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Verify(gone, verify.Subject{Artifact: a}, checkers...); err == nil {
		t.Fatal("it was judged for nobody")
	}
	if _, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, checkers...); err != nil {
		t.Error(err)
	}
}

// TestTwoPoliciesFetchOnce checks that signatures are fetched once for two policies.
func TestTwoPoliciesFetchOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a := s.push(t, "art", "ann")
	one, first := decodePolicy(t, "  - {match: '**', catalogs: {stamp: ann}}\n")
	two, second := decodePolicy(t, "  - {match: '**', catalogs: {stamp: ann}}\n")
	ask := verify.Request{Use: verify.UseCatalog, Ref: a.From, By: "b"}
	checkers := verify.Policy{Documents: []*verify.TrustPolicy{one, two}}.Checkers(ask)
	// The second policy cannot fetch them: they are deleted by then.
	checkers = slices.Insert(checkers, 2, verify.Checker(leaving{s.dir}))
	if _, err := verify.Verify(t.Context(), verify.Subject{Artifact: a}, checkers...); err != nil {
		t.Error(err)
	}
	if first.Load() != 1 || second.Load() != 1 {
		t.Errorf("judged %d and %d times", first.Load(), second.Load())
	}
}

// leaving is a checker that deletes the content.
type leaving struct{ dir string }

func (l leaving) Check(context.Context, verify.Subject) (verify.Evidence, error) {
	return verify.Evidence{Method: "gone"}, os.RemoveAll(l.dir)
}

// silent is a method whose verdicts are empty.
type silent struct{ stamp }

func (s silent) Judge(*yaml.RNode, verify.ReadFile) (verify.Judge, error) {
	return silentJudge{stampJudge{"", s.judged}}, nil
}

type silentJudge struct{ stampJudge }

func (silentJudge) Judge(context.Context, digest.Digest, []registry.Attachment) (verify.Verdict, error) {
	return verify.Verdict{Signatures: []verify.Signature{{Signer: "ann"}}}, nil
}

// TestNoReasonIsNoYes checks that a verdict without reasons and without a verified signature is an
// error.
func TestNoReasonIsNoYes(t *testing.T) {
	t.Parallel()
	a := newShop(t).push(t, "art", "ann")
	doc, err := verify.Decoder{Methods: []verify.Method{silent{stamp{&atomic.Int32{}}}}}.Decode("p",
		[]byte("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: '**', catalogs: {stamp: x}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = verify.Verify(t.Context(), verify.Subject{Artifact: a},
		verify.Policy{Documents: []*verify.TrustPolicy{doc}}.Checkers(verify.Request{Use: verify.UseCatalog, Ref: a.From})...)
	if err == nil || !strings.Contains(err.Error(), "nor a valid signature") {
		t.Error(err)
	}
}

// TestPlainFileHasNoSignature checks that a rule that requires a signature refuses a plain file.
func TestPlainFileHasNoSignature(t *testing.T) {
	t.Parallel()
	doc, _ := decodePolicy(t, "  - {match: '**', catalogs: {stamp: ann}}\n")
	s := subject("")
	_, err := verify.Verify(t.Context(), s, verify.Policy{Documents: []*verify.TrustPolicy{doc}}.Checkers(verify.Request{Use: verify.UseCatalog, Ref: s.Artifact.From})...)
	if err == nil || !strings.Contains(err.Error(), "a plain file carries no signature") {
		t.Error(err)
	}
}

func TestBadPolicies(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\n"
	rule := func(s string) string { return head + "spec:\n  rules:\n  - " + s + "\n" }
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "policy.yaml: it is empty"},
		{"not YAML", "a: [", "policy.yaml:2: "},
		{"another kind", "apiVersion: krmcat.dev/v1alpha1\nkind: Policy\n", "policy.yaml:2: kind: it has to be TrustPolicy"},
		{"another version", "apiVersion: v1\nkind: TrustPolicy\n", "policy.yaml:1: apiVersion"},
		{"no spec", head, "it has no rules"},
		{"no rules", head + "spec:\n  rules: []\n", "it has no rules"},
		{"unknown field", head + "spec:\n  rule: []\n", "did you mean \"rules\"?"},
		{"a rule for nothing", rule("{catalogs: {digests: true}}"), "has to name places"},
		{"an empty match", rule("{match: [], catalogs: {digests: true}}"), "has to name places"},
		{"a pattern that is none", rule("{match: 'oci://*/x', catalogs: {digests: true}}"), "policy.yaml:5: spec.rules[0].match"},
		{"a rule that demands of nobody", rule("{match: '**'}"), "none of catalogs, runtimes and deny"},
		{"a demand for nothing", rule("{match: '**', catalogs: {}}"), "it requires nothing"},
		{"digests false", rule("{match: '**', catalogs: {digests: false}}"), "it requires nothing"},
		{"nothing without a reason", rule("{match: '**', catalogs: {nothing: ''}}"), "give a reason"},
		{"nothing beside something", rule("{match: '**', catalogs: {nothing: x, digests: true}}"), "cannot be combined with requirements"},
		{"ownSignature of a catalog", rule("{match: '**', catalogs: {stamp: ann, ownSignature: true}}"), "no catalog pins a catalog"},
		{"ownSignature of nobody", rule("{match: '**', runtimes: {digests: true, ownSignature: true}}"), "whose signature"},
		{"an unknown method", rule("{match: '**', catalogs: {notary: {}}}"), "unknown field"},
		{"a broken section", rule("{match: '**', catalogs: {stamp: broken}}"), "broken section"},
		{"a method without a section", rule("{match: '**', catalogs: {digests: true, stamp: }}"), "stamp: it has no value"},
		{"a demand without a value", rule("{match: '**', catalogs: {digests: true}, runtimes: }"), "runtimes: it has no value"},
		{"a reason that is none", rule("{match: '**', catalogs: {nothing: false}}"), "quote it"},
		{"a bool that is none", rule("{match: '**', catalogs: {digests: !!bool yes}}"), "true or false"},
		{"a field twice", rule("{match: '**', catalogs: {stamp: ann, stamp: bob}}"), "policy.yaml:5"},
		{"a mode that is none", head + "spec:\n  mode: warn\n  rules: []\n", "policy.yaml:4: spec.mode: it is enforce or audit"},
		{"a mode that is nothing", head + "spec:\n  mode:\n  rules: []\n", "spec.mode: it has no value"},
		{"deny without a reason", rule("{match: '**', deny: ''}"), "spec.rules[0].deny: it has to give a reason"},
		{"deny that is no reason", rule("{match: '**', deny: true}"), "quote it"},
		{"deny beside a demand", rule("{match: '**', deny: x, runtimes: {digests: true}}"), "a rule that denies has no catalogs"},
		{"functions of catalogs", rule("{match: '**', functions: a/b, catalogs: {digests: true}}"), "spec.rules[0].catalogs: functions and reach apply to runtimes only"},
		{"reach of catalogs", rule("{match: '**', reach: exec, catalogs: {digests: true}}"), "functions and reach apply to runtimes only"},
		{"a function that is none", rule("{match: '**', functions: [a/b, b], deny: x}"), `spec.rules[0].functions[1]: "b" is not GROUP/KIND`},
		{"a function with a version", rule("{match: '**', functions: a/v1/b, deny: x}"), "is not GROUP/KIND"},
		{"a function with brackets", rule("{match: '**', functions: 'a/[b]', deny: x}"), "is not GROUP/KIND"},
		{"no functions", rule("{match: '**', functions: [], deny: x}"), "it has to name 1 to"},
		{"no reach", rule("{match: '**', reach: [], deny: x}"), "it has to name one of network, mounts, exec, environment"},
		{"a reach that is none", rule("{match: '**', reach: storage, deny: x}"), `it is one of network, mounts, exec, environment, command, not "storage"`},
		{"a slip in a field", rule("{match: '**', denny: x}"), "unknown field \"denny\", did you mean \"deny\"?"},
		{"a slip in the mode", head + "spec:\n  mod: audit\n  rules: []\n", "did you mean \"mode\"?"},
		{"an end that is none", rule("{match: '**', catalogs: {nothing: {reason: x, until: soon}}}"), `nothing.until: "soon" is neither a day, as 2026-01-31`},
		{"an end that is no day", rule("{match: '**', catalogs: {nothing: {reason: x, until: 2026-02-30}}}"), "neither a day"},
		{"an end without a reason", rule("{match: '**', catalogs: {nothing: {until: 2026-01-31}}}"), "it has to give a reason"},
		{"a slip in an end", rule("{match: '**', catalogs: {nothing: {reason: x, untill: 2026-01-31}}}"), "did you mean \"until\"?"},
		{"no end", rule("{match: '**', catalogs: {nothing: {reason: x, until: }}}"), "until: it has no value"},
		{"no groups", rule("{match: '**', catalogs: {stamp: []}}"), "1 to 8 groups"},
		{"a group that is nothing", rule("{match: '**', catalogs: {stamp: [ann, null]}}"), "stamp[1]: it has no value"},
		{"a broken group", rule("{match: '**', catalogs: {stamp: [ann, broken]}}"), "broken section"},
		{"two documents", rule("{match: '**', catalogs: {digests: true}}") + "---\na: b\n", "second document"},
		{"too large", "# " + strings.Repeat("x", verify.MaxPolicy), "larger than the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := verify.Decoder{Methods: []verify.Method{stamp{&atomic.Int32{}}}}.Decode("policy.yaml", []byte(c.doc))
			var bad *verify.PolicyError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

// FuzzPolicy decodes arbitrary text. All rules of a valid policy have a demand.
func FuzzPolicy(f *testing.F) {
	f.Add("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec:\n  rules:\n  - {match: '**', catalogs: {stamp: ann}, runtimes: {nothing: x}}\n")
	f.Add("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nmetadata: &a {name: x}\nspec:\n  rules:\n  - match: [oci://example.com/*, 'https://example.com/**']\n    runtimes: &r {digests: true}\n  - {match: '**', runtimes: *r}\n")
	f.Add("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec:\n  mode: audit\n  rules:\n  - {match: '**', functions: [a.b/*, '*/C'], reach: [network, exec], runtimes: {stamp: [ann, bob]}}\n" +
		"  - {match: '**', catalogs: {nothing: {reason: x, until: 2026-01-31}}}\n  - {match: 'oci://h.example/x:v1', deny: why}\n")
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := verify.Decoder{Methods: []verify.Method{stamp{&atomic.Int32{}}}}.Decode("p", []byte(doc))
		if err != nil {
			var bad *verify.PolicyError
			if !errors.As(err, &bad) {
				t.Fatalf("not a PolicyError: %v", err)
			}
			return
		}
		if len(p.Rules) == 0 {
			t.Fatal("a policy without rules was read")
		}
		for _, r := range p.Rules {
			if len(r.Match) == 0 || (r.Catalogs == nil && r.Runtimes == nil) == (r.Deny == "") {
				t.Fatalf("a rule that says nothing was read: %+v", r)
			}
			for _, d := range []*verify.Demand{r.Catalogs, r.Runtimes} {
				if d != nil && d.Nothing == "" && !d.Digests && len(d.Signatures) == 0 {
					t.Fatal("a demand for nothing has no reason")
				}
			}
		}
		p.Notes(noon())
		if fmt.Sprint(p.Name) == "" {
			t.Fatal("it has no name")
		}
	})
}
