package verify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// noon is the time of the tests of exemptions with an end.
func noon() time.Time { return time.Date(2026, time.June, 15, 12, 0, 0, 0, time.UTC) }

// asked is a request in a test.
type asked struct {
	rules     string
	audit     bool
	use       verify.Use
	by        string // who stamped it
	ref       string // the claimed place; "" for the real one
	functions []verify.Function
	reach     []verify.Reach
	claimed   bool
	direct    bool
}

func (a asked) verify(t *testing.T) ([]verify.Evidence, error) {
	t.Helper()
	art := newShop(t).push(t, "art", a.by)
	doc, _ := decodePolicy(t, strings.ReplaceAll(a.rules, "DIGEST", art.Root.Digest.String()))
	doc.Audit = a.audit
	policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}, Now: noon}
	ask := verify.Request{Use: a.use, Ref: art.From, By: "b", Functions: a.functions, Reach: a.reach, Claimed: a.claimed, Direct: a.direct}
	if a.ref != "" {
		ask.Ref = place(t, strings.ReplaceAll(a.ref, "DIGEST", art.Root.Digest.String()))
	}
	key, err := verify.Verify(t.Context(), verify.Subject{Artifact: art}, policy.Checkers(ask)...)
	return key.Evidence(), err
}

func (a asked) refused(t *testing.T, want string) {
	t.Helper()
	_, err := a.verify(t)
	var no *verify.UntrustedError
	if !errors.As(err, &no) || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v: wanted a refusal with %q, got %v", a, want, err)
	}
}

func (a asked) taken(t *testing.T, method string) {
	t.Helper()
	got, err := a.verify(t)
	if err != nil || !slices.ContainsFunc(got, func(e verify.Evidence) bool { return e.Method == method }) {
		t.Errorf("%+v: wanted evidence %s, got %+v, %v", a, method, got, err)
	}
}

const (
	annEverywhere = "  - {match: '**', catalogs: {stamp: ann}, runtimes: {stamp: ann}}\n"
	openAll       = "  - {match: '**', catalogs: {nothing: open}, runtimes: {nothing: open}}\n"
)

// TestDeny checks that denied content is refused, whatever other rules allow, in all spellings.
func TestDeny(t *testing.T) {
	t.Parallel()
	at := func(match string) string {
		return openAll + "  - {match: 'oci://h.example/fns/cat@DIGEST', catalogs: {nothing: this one}, runtimes: {nothing: this one}}\n  - {match: '" + match + "', deny: it lost resources}\n"
	}
	const says = "policy.yaml:8 denies it: it lost resources"
	for match, refs := range map[string]string{
		"oci://h.example/**":             "oci://h.example/fns/cat oci://h.example/fns/cat:v1 oci://h.example/fns/cat@DIGEST oci://H.example:443/fns/cat:v1@DIGEST",
		"oci://h.example/fns/cat:v1":     "oci://h.example/fns/cat:v1 oci://h.example/fns/cat:v1@DIGEST",
		"oci://h.example/fns/cat:latest": "oci://h.example/fns/cat",
		"oci://h.example/fns/cat@DIGEST": "oci://h.example/fns/cat oci://h.example/fns/cat:v1 oci://h.example/fns/cat@DIGEST",
		"oci://*.example/**@DIGEST":      "oci://h.example/fns/cat:v1 oci://g.example/x",
		"https://h.example/fns/*":        "https://h.example/fns/x?raw https://h.example/fns/a/../x https://h.example/f%6es/x",
		"oci://docker.io/library/cat:v1": "oci://index.docker.io/cat:v1@DIGEST oci://registry.hub.docker.com/cat:v1",
		"https://h.example/é[x]":         "https://h.example/é[x] https://h.example/%c3%a9[x] https://h.example/%C3%A9%5bx%5D?raw https://h.example/%C3%A9[x];b",
		"https://h.example/@s/%21x":      "https://h.example/%40s/!x https://h.example/@s/%21x https://h.example/@s//!x",
		"https://h.example/x?v=1":        "https://h.example/x?v=1 https://h.example/x?z&v=1 https://h.example/x?v=%31",
		"https://h.example/~x":           "https://h.example/%7Ex https://H.example.:0443/%7ex",
		"oci://127.0.0.1/fns/*":          "oci://127.0.0.1/fns/x oci://127.0.0.1:80/fns/x:v1 oci://localhost/fns/x oci://[::1]:443/fns/x@DIGEST",
		"oci://localhost:5000/fns/x:v1":  "oci://127.0.0.1:5000/fns/x:v1 oci://LOCALHOST.:05000/fns/x:v1@DIGEST",
		"oci-layout:///srv/store:v1":     "oci-layout:///srv/a/../store:v1@DIGEST",
		"/srv/fns/**":                    "/srv/fns/x file:///srv/fns/x /srv/fns/a/../x oci-layout:///srv/fns/x oci-layout:///srv/fns/x/ oci-layout:///srv/fns/x:v1 oci-layout:///srv/fns/a/x:v1@DIGEST oci-layout:///srv/fns/x@DIGEST oci-layout:///srv/fns",
		"file:///srv/fns/*":              "/srv/fns/x oci-layout:///srv/fns/x:v1@DIGEST oci-layout:///srv/fns:v1",
		"/srv/fns/store":                 "oci-layout:///srv/fns/store oci-layout:///srv/fns/store:v1@DIGEST",
		"/srv/store/blobs/**":            "oci-layout:///srv/store oci-layout:///srv/store:v1@DIGEST",
		"/srv/**@DIGEST":                 "oci-layout:///srv/store:v1 oci-layout:///srv/store:v1@DIGEST /srv/x /srv/x@DIGEST",
		"https://h.example/x@DIGEST":     "https://h.example/x https://h.example/x?z https://h.example/x;y https://h.example/%78?z",
		"oci://h.example/r:v1@DIGEST":    "oci://h.example/r:v2 oci://h.example/r@DIGEST oci://h.example/r",
		"**":                             "oci://h.example/fns/cat /srv/x",
	} {
		for ref := range strings.FieldsSeq(refs) {
			for _, use := range []verify.Use{verify.UseCatalog, verify.UseScript} {
				a := asked{rules: at(match), use: use, by: "ann", ref: ref}
				a.refused(t, says)
				a.audit = true
				a.taken(t, "audit")
			}
		}
	}
	asked{rules: at("/srv/fns/**"), ref: "oci-layout:///srv/fnss/x:v1"}.taken(t, "exempt")
	asked{rules: at("/srv/fns"), ref: "oci-layout:///srv/fns/x:v1"}.taken(t, "exempt")
	asked{rules: at("oci://h.example/fns/cat:v1"), ref: "oci://h.example/fns/cat:v2"}.taken(t, "exempt")
	asked{rules: at("oci://h.example/fns/cat"), ref: "oci://h.example/fns/dog"}.taken(t, "exempt")
	asked{rules: at("https://h.example/%C3%A9"), ref: "https://h.example/%C3%AA"}.taken(t, "exempt")
	asked{rules: at("https://h.example/x?v=1"), ref: "https://h.example/x?v=2"}.taken(t, "exempt")
}

// TestDenyIndex checks that a rule for an index also denies its manifests and, by digest, their
// files, and nothing else.
func TestDenyIndex(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	l := reference.Locator{Scheme: reference.SchemeLayout, Name: s.dir + "/fns", Tag: "v1"}
	index, err := s.client.Push(t.Context(), l, registry.Bundle{Role: mediatypes.RoleExec, Files: []registry.File{
		{Title: "fn", Platform: "linux/amd64", Data: []byte("amd")}, {Title: "fn", Platform: "linux/arm64", Data: []byte("arm")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	below, err := s.client.Manifests(t.Context(), index)
	if err != nil || len(below) != 2 {
		t.Fatalf("got %v, %v", below, err)
	}
	l.Tag = "v2"
	if _, err = s.client.Push(t.Context(), l, registry.Bundle{Role: mediatypes.RoleExec, Files: []registry.File{{Title: "fn", Data: []byte("other")}}}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		tag  string
		by   digest.Digest
		root bool
		deny string
		want string
	}{
		{"", below[0].Digest, false, index.Root.Digest.String(), "(it is listed by " + index.Root.Digest.String() + ")"},
		{"v1", below[1].Digest, true, index.Root.Digest.String(), "(it is listed by "},
		{"v1", "", false, index.Root.Digest.String(), "denies it: gone"},
		{"v1", "", false, below[0].Digest.String(), "denies it: gone"},
		{"v1", "", true, index.Root.Digest.String(), "denies it: gone"},
		{"v1", "", false, digest.FromString("amd").String(), "denies it: gone"},
		{"v2", "", false, index.Root.Digest.String(), ""},
		{"v2", "", false, digest.FromString("not there").String(), ""},
	} {
		doc, _ := decodePolicy(t, openAll+"  - {match: 'oci-layout://"+l.Name+"@"+tc.deny+"', deny: gone}\n")
		at := reference.Locator{Scheme: l.Scheme, Name: l.Name, Tag: tc.tag, Digest: tc.by}
		art, err := s.client.Resolve(t.Context(), at, registry.Want{Platform: "linux/amd64", Root: tc.root})
		if err != nil {
			t.Fatal(err)
		}
		policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
		_, err = verify.Verify(t.Context(), verify.Subject{Artifact: art}, policy.Checkers(verify.Request{Use: verify.UseImage, Ref: at, By: "b"})...)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: got %v", tc, err)
		}
	}
	// An index that cannot be read is not an empty one.
	doc, _ := decodePolicy(t, openAll+"  - {match: 'oci-layout://"+l.Name+"@"+index.Root.Digest.String()+"', deny: gone}\n")
	art, err := s.client.Resolve(t.Context(), l, registry.Want{})
	if err == nil {
		err = os.WriteFile(l.Name+"/blobs/sha256/"+index.Root.Digest.Encoded(), []byte("{}"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	policy := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
	_, err = verify.Verify(t.Context(), verify.Subject{Artifact: art}, policy.Checkers(verify.Request{Use: verify.UseImage, Ref: l, By: "b"})...)
	if err == nil || !strings.Contains(err.Error(), "its manifests are not known") {
		t.Errorf("got %v", err)
	}
}

// TestDenyFollowsLinks checks that content of a denied directory is denied by all paths that lead
// there.
func TestDenyFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(dir+"/no/lay", 0o700), os.Mkdir(dir+"/yes", 0o700), os.WriteFile(dir+"/no/x", nil, 0o600), os.WriteFile(dir+"/yes/x", nil, 0o600),
		os.Symlink("../no/x", dir+"/yes/file"), os.Symlink(dir+"/no", dir+"/yes/dir"), os.Symlink("file", dir+"/yes/again"), os.Symlink("x", dir+"/yes/near"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(dir+"/parts", 0o700), os.Mkdir(dir+"/linked", 0o700), os.WriteFile(dir+"/no/lay/index.json", nil, 0o600),
		os.Symlink(dir+"/no/lay/index.json", dir+"/parts/index.json"), os.Symlink("no", dir+"/current"), os.Symlink("../no", dir+"/linked/no"))
	if err != nil {
		t.Fatal(err)
	}
	rules := openAll + "  - {match: '" + dir + "/no/**', deny: gone}\n"
	// Links are followed in patterns, and in layouts to their blobs.
	for _, match := range []string{"/no/**", "/current/**", "/linked/no/**", "/linked/no/lay", "/linked/no/gone/../lay"} {
		rules := openAll + "  - {match: '" + dir + match + "', deny: gone}\n"
		asked{rules: rules, use: verify.UseScript, by: "ann", ref: "oci-layout://" + dir + "/no/lay:v1"}.refused(t, "denies it: gone")
	}
	asked{rules: rules, use: verify.UseScript, by: "ann", ref: "oci-layout://" + dir + "/parts:v1"}.refused(t, "denies it: gone")
	asked{rules: openAll + "  - {match: '" + dir + "/current/*', deny: gone}\n", use: verify.UseScript, by: "ann", ref: dir + "/no/x"}.refused(t, "denies it: gone")
	asked{rules: openAll + "  - {match: '" + dir + "/current/*', deny: gone}\n", use: verify.UseScript, by: "ann", ref: dir + "/yes/x"}.taken(t, "exempt")
	for _, path := range []string{dir + "/no/x", dir + "/yes/file", dir + "/yes/dir/x", dir + "/yes/again", "oci-layout://" + dir + "/yes/dir/lay:v1"} {
		asked{rules: rules, use: verify.UseScript, by: "ann", ref: path}.refused(t, "denies it: gone")
	}
	for _, path := range []string{dir + "/yes/x", dir + "/yes/near", dir + "/yes/gone"} {
		asked{rules: rules, use: verify.UseScript, by: "ann", ref: path}.taken(t, "exempt")
	}
}

// TestDenyLayoutsOfLinks checks that a layout whose blobs are links into a denied one is denied
// too.
func TestDenyLayoutsOfLinks(t *testing.T) {
	t.Parallel()
	art := newShop(t).push(t, "art", "ann")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	blob := "/blobs/sha256/" + art.Root.Digest.Encoded()
	err = errors.Join(os.MkdirAll(dir+"/no/lay/blobs/sha256", 0o700), os.WriteFile(dir+"/no/lay/oci-layout", nil, 0o600), os.WriteFile(dir+"/no/lay"+blob, nil, 0o600),
		os.Mkdir(dir+"/whole", 0o700), os.Symlink("../no/lay/blobs", dir+"/whole/blobs"), os.MkdirAll(dir+"/one/blobs/sha256", 0o700), os.Symlink(dir+"/no/lay"+blob, dir+"/one"+blob),
		os.MkdirAll(dir+"/own/blobs/sha256", 0o700), os.WriteFile(dir+"/own"+blob, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range []string{"/no/**", "/no/lay", "/no/lay:v1", "/no/lay@DIGEST", "/*/lay"} {
		rules := openAll + "  - {match: 'oci-layout://" + dir + match + "', deny: gone}\n"
		for _, name := range []string{"/no/lay", "/whole", "/one"} {
			asked{rules: rules, use: verify.UseScript, by: "ann", ref: "oci-layout://" + dir + name + ":v1"}.refused(t, "denies it: gone")
		}
		asked{rules: rules, use: verify.UseScript, by: "ann", ref: "oci-layout://" + dir + "/own:v1"}.taken(t, "exempt")
	}
}

// TestDeniedBeforeAsking checks that denied places are refused before any request.
func TestDeniedBeforeAsking(t *testing.T) {
	t.Parallel()
	doc, _ := decodePolicy(t, openAll+"  - {match: 'oci://h.example/**', deny: gone}\n  - {match: 'oci://i.example/**', catalogs: {nothing: {reason: x, until: 2026-06-01}}}\n")
	foresee := func(ref string) error {
		l := place(t, ref)
		p := verify.Policy{Documents: []*verify.TrustPolicy{doc}, Now: noon}
		return verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: l}}, p.Checkers(verify.Request{Ref: l})...)
	}
	for _, ref := range []string{"oci://h.example/x:v1@" + digest.FromString("").String(), "oci://i.example/x"} {
		if err := foresee(ref); err == nil {
			t.Errorf("%s would have been asked for", ref)
		}
	}
	if err := foresee("oci://g.example/x"); err != nil {
		t.Error(err)
	}
	doc.Audit = true
	if err := foresee("oci://h.example/x"); err != nil {
		t.Error(err)
	}
}

// TestForeseen checks that Verify refuses what Foresee refuses, and that Foresee refuses everything
// that can be refused without a request.
func TestForeseen(t *testing.T) {
	t.Parallel()
	const text = "text"
	sum := digest.FromString(text)
	signed := "  - match: '**'\n    catalogs: {stamp: ann}\n    runtimes: {stamp: ann}\n"
	labels := []verify.Function{{Group: "sec.example.com", Kind: "Label"}}
	for name, c := range map[string]struct {
		rules    string
		ref      string
		promised digest.Digest
		want     bool
	}{
		"a file behind https cannot be signed": {signed, "https://h.example/x", "", true},
		"nor one with a digest":                {signed, "https://h.example/x@" + sum.String(), "", true},
		"nor one on the disk":                  {signed, "/srv/x", "", true},
		"an artifact may be":                   {signed, "oci://h.example/x", "", false},
		"so may one in a layout":               {signed, "oci-layout:///srv/x", "", false},
		"by a narrow rule":                     {openAll + "  - {match: '**', functions: sec.example.com/*, runtimes: {stamp: ann}}\n", "https://h.example/x", "", true},
		"by another's":                         {openAll + "  - {match: '**', functions: apps.example.com/*, runtimes: {stamp: ann}}\n", "https://h.example/x", "", false},
		"denied by what is promised":           {openAll + "  - {match: 'https://h.example/x@" + sum.String() + "', deny: gone}\n", "https://h.example/x", sum, true},
		"denied by what is written":            {openAll + "  - {match: 'https://h.example/x@" + sum.String() + "', deny: gone}\n", "https://h.example/x@" + sum.String(), "", true},
		"nothing is promised":                  {openAll + "  - {match: 'https://h.example/x@" + sum.String() + "', deny: gone}\n", "https://h.example/x", "", false},
		"something else is":                    {openAll + "  - {match: 'https://h.example/x@" + sum.String() + "', deny: gone}\n", "https://h.example/x", digest.FromString("other"), false},
	} {
		doc, _ := decodePolicy(t, c.rules)
		l := place(t, c.ref)
		checkers := verify.Policy{Documents: []*verify.TrustPolicy{doc}, Now: noon}.Checkers(verify.Request{Use: verify.UseScript, Ref: l, Functions: labels})
		if err := verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: l}, Promised: c.promised}, checkers...); (err != nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if !c.want {
			continue
		}
		a := registry.Literal(l, mediatypes.RoleStarlark, "x", []byte(text))
		if _, err := verify.Verify(t.Context(), verify.Subject{Artifact: a, Promised: c.promised}, checkers...); err == nil {
			t.Errorf("%s: it is trusted", name)
		}
	}
}

// TestForeseenFunction checks that a function that is denied everywhere, with any permissions, is
// refused before its catalog is requested.
func TestForeseenFunction(t *testing.T) {
	t.Parallel()
	label := verify.Function{Group: "sec.example.com", Kind: "Label"}
	for rule, want := range map[string]bool{
		"{match: '**', functions: sec.example.com/*, deny: no}":                             true,
		"{match: ['oci://h.example/**', '**'], functions: sec.example.com/Label, deny: no}": true,
		"{match: '**', deny: no}":                                                true,
		"{match: '**', functions: apps.example.com/*, deny: no}":                 false,
		"{match: 'oci://h.example/**', functions: sec.example.com/*, deny: no}":  false,
		"{match: '**', functions: sec.example.com/*, reach: network, deny: no}":  false,
		"{match: '**', functions: sec.example.com/*, runtimes: {digests: true}}": false,
	} {
		doc, _ := decodePolicy(t, openAll+"  - "+rule+"\n")
		p := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
		if err := p.ForeseeFunction(label, "Label"); (err != nil) != want {
			t.Errorf("%s: %v", rule, err)
		}
		doc.Audit = true
		if err := p.ForeseeFunction(label, "Label"); err != nil {
			t.Errorf("%s, tried out: %v", rule, err)
		}
	}
}

// TestNarrowRules checks that rules for some functions or permissions apply in addition to the rule
// for the place.
func TestNarrowRules(t *testing.T) {
	t.Parallel()
	label := []verify.Function{{Group: "sec.example.com", Kind: "Label"}}
	other := []verify.Function{{Group: "apps.example.com", Kind: "Label"}}
	network := []verify.Reach{verify.ReachNetwork}
	both := openAll + "  - {match: '**', functions: sec.example.com/*, runtimes: {stamp: ann}}\n"
	asked{rules: both, use: verify.UseScript, functions: label}.refused(t, "the stamp of ann")
	asked{rules: both, use: verify.UseScript, functions: append(other, label...)}.refused(t, "the stamp of ann")
	asked{rules: both, use: verify.UseScript, functions: label, by: "ann"}.taken(t, "stamp")
	asked{rules: both, use: verify.UseScript, functions: other}.taken(t, "exempt")
	asked{rules: both, use: verify.UseCatalog}.taken(t, "exempt")

	// A rule for a more specific place, and an exemption, do not replace it.
	closer := both + "  - {match: 'oci://h.example/fns/*', runtimes: {nothing: ours}}\n  - {match: '**', functions: '*/Label', runtimes: {nothing: labels}}\n"
	asked{rules: closer, use: verify.UseScript, functions: label, ref: "oci://h.example/fns/label:v1"}.refused(t, "the stamp of ann")

	// With another case it requires and denies too, but allows nothing.
	for _, f := range []string{"Sec.Example.com/Label", "sec.example.com/label", "SEC.*/*", "*/laBel"} {
		asked{rules: openAll + "  - {match: '**', functions: '" + f + "', runtimes: {stamp: ann}}\n", use: verify.UseScript, functions: label}.refused(t, "the stamp of ann")
		asked{rules: openAll + "  - {match: '**', functions: '" + f + "', deny: gone}\n", use: verify.UseScript, functions: label}.refused(t, "denies it: gone")
		asked{rules: "  - {match: '**', functions: '" + f + "', runtimes: {nothing: this one}}\n", use: verify.UseScript, functions: label}.refused(t, "no rule of")
	}
	// If it is the only rule, it decides. No rule applies to other functions.
	alone := "  - {match: 'oci://h.example/**', functions: [sec.example.com/Label], runtimes: {nothing: this one}}\n"
	asked{rules: alone, use: verify.UseScript, functions: label, ref: "oci://h.example/x"}.taken(t, "exempt")
	asked{rules: alone, use: verify.UseScript, functions: other, ref: "oci://h.example/x"}.refused(t, "no rule of p")
	asked{rules: alone, use: verify.UseScript, functions: label, ref: "https://h.example/x"}.refused(t, "no rule of p")
	// The name of a function allows nothing if the rendered files claim it.
	asked{rules: alone, use: verify.UseScript, functions: label, ref: "oci://h.example/x", claimed: true}.refused(t, "no rule of p")
	asked{rules: both, use: verify.UseScript, functions: label, claimed: true}.refused(t, "the stamp of ann")
	asks := "  - {match: 'oci://h.example/**', reach: network, runtimes: {nothing: open to these}}\n"
	asked{rules: asks, use: verify.UseImage, reach: []verify.Reach{verify.ReachNetwork}, ref: "oci://h.example/x"}.taken(t, "exempt")
	asked{rules: asks, use: verify.UseImage, reach: []verify.Reach{verify.ReachNetwork}, ref: "oci://h.example/x", claimed: true}.refused(t, "no rule of p")
	// Nor does a digest of one function.
	pin := "@sha256:" + strings.Repeat("0", 64)
	known := "  - {match: 'oci://h.example/x" + pin + "', functions: [sec.example.com/Label], runtimes: {nothing: this one}}\n"
	for _, written := range []string{"oci://h.example/x" + pin, "oci://h.example/x:v1" + pin} {
		asked{rules: known, use: verify.UseScript, functions: label, ref: written}.taken(t, "exempt")
		asked{rules: known, use: verify.UseScript, functions: label, ref: written, claimed: true}.refused(t, "no rule of p")
	}
	// Nor does a path that hides the place.
	asked{rules: "  - {match: 'https://h.example/fns/*', functions: '*/*', runtimes: {nothing: these}}\n", use: verify.UseScript, functions: label, ref: "https://h.example/a/../fns/x"}.refused(t, "no rule of p")
	// A direct request has no function.
	asked{rules: alone, use: verify.UseScript, ref: "oci://h.example/x", direct: true}.refused(t, "no rule of p")

	far := openAll + "  - {match: '**', reach: [network, exec], runtimes: {stamp: ann}}\n  - {match: '**', reach: environment, deny: no secrets}\n"
	asked{rules: far, use: verify.UseImage, reach: network}.refused(t, "the stamp of ann")
	asked{rules: far, use: verify.UseImage, reach: []verify.Reach{verify.ReachMounts, verify.ReachExec}}.refused(t, "the stamp of ann")
	asked{rules: far, use: verify.UseImage, reach: []verify.Reach{verify.ReachEnvironment}}.refused(t, "denies it: no secrets")
	asked{rules: far, use: verify.UseImage, reach: []verify.Reach{verify.ReachMounts}}.taken(t, "exempt")
	asked{rules: far, use: verify.UseImage, reach: network, by: "ann"}.taken(t, "stamp")
	asked{rules: far, use: verify.UseImage}.taken(t, "exempt")
	// Both conditions have to apply.
	narrow := openAll + "  - {match: '**', functions: sec.example.com/*, reach: network, deny: not together}\n"
	asked{rules: narrow, use: verify.UseImage, reach: network, functions: label}.refused(t, "not together")
	asked{rules: narrow, use: verify.UseImage, reach: network, functions: other}.taken(t, "exempt")
	asked{rules: narrow, use: verify.UseImage, functions: label}.taken(t, "exempt")
}

// TestUnasked checks the list of rules that do not apply without a function.
func TestUnasked(t *testing.T) {
	t.Parallel()
	doc, _ := decodePolicy(t, openAll+"  - {match: 'oci://h.example/**', functions: a/*, runtimes: {stamp: ann}}\n  - {match: 'oci://h.example/**', reach: exec, deny: none}\n")
	p := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
	if got := p.Unasked(verify.Request{Use: verify.UseScript, Ref: place(t, "oci://h.example/x:v1")}); !slices.Equal(got, []string{"policy.yaml:7", "policy.yaml:8"}) {
		t.Error(got)
	}
	for _, none := range []verify.Request{{Use: verify.UseCatalog, Ref: place(t, "oci://h.example/x")}, {Use: verify.UseScript, Ref: place(t, "/x")}} {
		if got := p.Unasked(none); got != nil {
			t.Error(got)
		}
	}
}

// TestExemptionsEnd: at noon of the 15th of June.
func TestExemptionsEnd(t *testing.T) {
	t.Parallel()
	for until, over := range map[string]string{
		"2026-06-14":                "and the exemption expired: it was valid until 2026-06-14",
		"2026-06-15":                "",
		"2999-12-31":                "",
		"2026-06-15T12:00:00Z":      "and the exemption expired: it was valid until 2026-06-15T12:00:00Z",
		"2026-06-15T12:00:01Z":      "",
		"2026-06-15T13:00:00+02:00": "and the exemption expired: it was valid until 2026-06-15T11:00:00Z",
	} {
		rules := "  - {match: '**', catalogs: {nothing: {reason: until we sign, until: " + until + "}}}\n" +
			"  - {match: 'oci://h.example/**', catalogs: {nothing: not for this place}}\n"
		a := asked{rules: rules, by: "ann"}
		if over == "" {
			a.taken(t, "exempt")
			continue
		}
		a.refused(t, "policy.yaml:6 exempted it (until we sign), "+over)
	}
}

// TestAudit checks that a policy in audit mode refuses nothing, reports what it would refuse, and
// does not change the verdict of other policies.
func TestAudit(t *testing.T) {
	t.Parallel()
	art := newShop(t).push(t, "art", "ann")
	tried, _ := decodePolicy(t, "  - {match: '**', catalogs: {stamp: bob}, runtimes: {stamp: bob}}\n")
	tried.Audit = true
	counts, _ := decodePolicy(t, annEverywhere)
	ask := verify.Request{Use: verify.UseCatalog, Ref: art.From, By: "b"}
	alone := verify.Policy{Documents: []*verify.TrustPolicy{tried}}
	key, err := verify.Verify(t.Context(), verify.Subject{Artifact: art}, alone.Checkers(ask)...)
	if err != nil || !says(key.Evidence(), "p (policy.yaml) would refuse it: policy.yaml:6 asks for the stamp of bob; no stamp of bob") {
		t.Errorf("%+v, %v", key.Evidence(), err)
	}
	if slices.ContainsFunc(key.Evidence(), func(e verify.Evidence) bool { return e.Vouches }) {
		t.Error("a policy that is tried out vouched for what it would refuse")
	}
	for _, docs := range [][]*verify.TrustPolicy{{tried, counts}, {counts, tried}} {
		both := verify.Policy{Documents: docs}
		if key, err := verify.Verify(t.Context(), verify.Subject{Artifact: art}, both.Checkers(ask)...); err != nil || !says(key.Evidence(), "would refuse it") {
			t.Errorf("%+v, %v", key.Evidence(), err)
		}
		cid := newShop(t).push(t, "art", "cid")
		_, err := verify.Verify(t.Context(), verify.Subject{Artifact: cid}, both.Checkers(verify.Request{Use: verify.UseCatalog, Ref: cid.From})...)
		var no *verify.UntrustedError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), "no stamp of ann") || strings.Contains(err.Error(), "bob") || !says(no.Audit, "no stamp of bob") {
			t.Errorf("beside a policy that is tried out: %v", err)
		}
	}
	// Promised digests are compared even in audit mode.
	moved := art
	moved.From.Digest = digest.FromString("other bytes")
	if _, err := verify.Verify(t.Context(), verify.Subject{Artifact: moved}, alone.Checkers(ask)...); err == nil {
		t.Error("a digest that differs was taken")
	}
	// A direct request is accepted by nobody.
	ask.Direct = true
	_, err = verify.Verify(t.Context(), verify.Subject{Artifact: art}, alone.Checkers(ask)...)
	var no *verify.UntrustedError
	if !errors.As(err, &no) || !no.NoRule || len(no.Reasons) != 1 || !says(no.Audit, "would refuse it") {
		t.Errorf("only tried out, and trusted: %v", err)
	}
	// A cancelled call has no verdict.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Verify(gone, verify.Subject{Artifact: newShop(t).push(t, "art", "")}, alone.Checkers(verify.Request{Use: verify.UseCatalog, Ref: art.From})...); err == nil {
		t.Error("an interruption passed for an audit")
	}
}

func says(list []verify.Evidence, text string) bool {
	return slices.ContainsFunc(list, func(e verify.Evidence) bool {
		return e.Audit && e.Method == "audit" && strings.Contains(e.Detail, text)
	})
}

// crowd is a method whose section is a number and the first letters of possible signers: 2ab
// requires two stamps, by a and b. The stamp "abc" is by all three.
type crowd struct{ stamp }

type crowdJudge struct {
	stampJudge
	needed int
}

func (c crowd) Judge(section *yaml.RNode, _ verify.ReadFile) (verify.Judge, error) {
	text := section.YNode().Value
	return crowdJudge{stampJudge{text[1:], c.judged}, int(text[0] - '0')}, nil
}

func (j crowdJudge) Judge(_ context.Context, d digest.Digest, found []registry.Attachment) (verify.Verdict, error) {
	v := verify.Verdict{Needed: j.needed}
	for _, a := range found {
		for _, by := range strings.Split(a.Annotations["by"], "") {
			counts := strings.Contains(j.name, by)
			v.Signatures = append(v.Signatures, verify.Signature{Form: "stamp", Subject: d, Signer: by, Key: by, Verified: counts})
		}
	}
	n := 0
	for _, s := range v.Signatures {
		if s.Verified {
			n++
		}
	}
	if n < j.needed {
		v.Reasons = verify.Because("too few of " + j.name)
	}
	return v, nil
}

// TestGroups checks that each of several groups has to sign, and that a signer counts for one group
// only.
func TestGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		groups, by, want string
	}{
		{"[1ab, 1cd]", "ac", ""},
		{"[1ab, 1cd]", "bd", ""},
		{"[1ab, 1cd]", "ab", "too few of cd"},
		{"[1ab, 1cd]", "c", "too few of ab"},
		{"[1ab, 1cd]", "x", "too few of ab"},
		{"[1ab, 1ab]", "a", "by different signers, but there are too few"},
		{"[1ab, 1ab]", "ab", ""},
		{"[1ab, 1bc]", "b", "by different signers"},
		{"[1ab, 1bc]", "bc", ""},
		{"[1bc, 1ab]", "bc", ""}, // b counts for the other group
		{"[2abc, 1cd]", "abc", ""},
		{"[2abc, 1cd]", "ac", "by different signers"},
		{"[2abc, 2abc]", "abc", "by different signers"},
		{"[2abc, 2abc]", "aabbc", "by different signers"},
		{"[2abcd, 2abcd]", "abcd", ""},
		{"[1ab]", "a", ""},
		{"1ab", "b", ""},
	} {
		art := newShop(t).push(t, "art", c.by)
		doc, err := verify.Decoder{Methods: []verify.Method{crowd{stamp{&atomic.Int32{}}}}}.Decode("policy.yaml", []byte(
			"apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: '**', catalogs: {stamp: "+c.groups+"}}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p := verify.Policy{Documents: []*verify.TrustPolicy{doc}}
		_, err = verify.Verify(t.Context(), verify.Subject{Artifact: art}, p.Checkers(verify.Request{Use: verify.UseCatalog, Ref: art.From})...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, signed by %s: want %q, got %v", c.groups, c.by, c.want, err)
		}
	}
}

// TestNotes checks the notes about exemptions and about rules that do not apply.
func TestNotes(t *testing.T) {
	t.Parallel()
	doc, _ := decodePolicy(t, strings.Join([]string{
		"  - {match: 'https://a.example/**', catalogs: {nothing: {reason: gone, until: 2026-06-14}}}",
		"  - {match: 'https://b.example/**', catalogs: {nothing: {reason: soon, until: 2026-06-20}}}",
		"  - {match: 'https://c.example/**', catalogs: {nothing: {reason: later, until: 2027-06-20}}}",
		"  - {match: 'https://c.example/**', runtimes: {nothing: of runtimes}}",
		"  - {match: 'https://C.example:443/**', catalogs: {stamp: ann}}",
		"  - {match: 'https://c.example/**', functions: a/*, runtimes: {stamp: ann}}",
		"  - {match: 'oci://h.example/*:v*', catalogs: {stamp: ann}}",
		"  - {match: 'oci://h.example/**', catalogs: {stamp: bob}}",
	}, "\n")+"\n")
	want := []string{
		"policy.yaml:6: the exemption (gone) expired: it was valid until 2026-06-14, and its content is refused",
		"policy.yaml:7: the exemption (soon) ends in 5 days: it is until 2026-06-20",
		"policy.yaml:10: https://C.example:443/** never applies to catalogs: policy.yaml:8 is for the same places and comes first",
		"policy.yaml:12: oci://h.example/*:v* is for a tag: to catalogs whose reference has a digest and no tag, policy.yaml:13 (oci://h.example/**) applies",
	}
	if got := doc.Notes(noon()); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestEndOfExemption checks the messages about the end of an exemption.
func TestEndOfExemption(t *testing.T) {
	t.Parallel()
	for until, want := range map[string]string{
		"2026-06-15":           "ends today: it is until 2026-06-15",
		"2026-06-16":           "ends in 1 day: it is until 2026-06-16",
		"2026-06-17":           "ends in 2 days: it is until 2026-06-17",
		"2026-06-15T12:30:00Z": "ends in 30 minutes: it is until 2026-06-15T12:30:00Z",
		"2026-06-15T15:00:00Z": "ends in 3 hours: it is until 2026-06-15T15:00:00Z",
		"2026-06-14":           "expired: it was valid until 2026-06-14, and",
	} {
		doc, _ := decodePolicy(t, "  - {match: '**', catalogs: {nothing: {reason: x, until: "+until+"}}}\n")
		if got := doc.Notes(noon()); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", until, got, want)
		}
		if got := doc.Rules[0].Catalogs.String(); got != "nothing, until "+until+": x" {
			t.Errorf("%s: %q", until, got)
		}
	}
}

// TestEmptyEnd checks that an empty end of an exemption is an error.
func TestEmptyEnd(t *testing.T) {
	t.Parallel()
	for _, until := range []string{"''", "null", "", "~", "[]", "2999", "' '"} {
		_, err := verify.Decoder{}.Decode("policy.yaml", []byte(
			"apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: '**', catalogs: {nothing: {reason: x, until: "+until+"}}}]}\n"))
		if err == nil || !strings.Contains(err.Error(), "until") {
			t.Errorf("%q: %v", until, err)
		}
	}
}
