package reference_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
)

const otherDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// match is a pattern, and whether it matches a place.
type match struct {
	pattern, place string
	want           bool
}

func checkMatches(t *testing.T, matches []match) {
	t.Helper()
	for _, c := range matches {
		if got := mustParsePattern(t, c.pattern).Match(mustParse(t, c.place)); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.place, got)
		}
	}
}

func mustParsePattern(t testing.TB, s string) reference.Pattern {
	t.Helper()
	p, err := reference.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPatternMatch(t *testing.T) {
	t.Parallel()
	checkMatches(t, []match{
		// Everything.
		{"**", "oci://h.example/r", true},
		{"**", "https://h.example/../x?y", true},
		{"**", "./x", true},
		{"**", "oci-layout://x:v1", true},
		// Exact places.
		{"oci://h.example/r", "oci://h.example/r", true},
		{"oci://h.example/r", "oci://H.Example/r", true},
		{"oci://H.EXAMPLE/r", "oci://h.example/r", true},
		{"oci://h.example/r", "oci://h.example/r:v1", true},
		{"oci://h.example/r", "oci://h.example/r@" + someDigest, true},
		{"oci://h.example/r", "oci://h.example/r/s", false},
		{"oci://h.example/r", "oci://h.example/rs", false},
		{"oci://h.example:5000/r", "oci://h.example/r", false},
		{"oci://h.example/r", "https://h.example/r", false},
		{"oci://docker.io/library/x", "oci://docker.io/library/x:v1", true},
		{"https://h.example/c.yaml", "https://h.example/c.yaml", true},
		{"https://h.example/c.yaml", "https://h.example:443/c.yaml", true},
		{"https://h.example:443/c.yaml", "https://h.example/c.yaml", true},
		{"https://h.example/c.yaml", "https://h.example/c.yaml?v=1", false},
		{"https://h.example/c.yaml?v=1", "https://h.example/c.yaml?v=1", true},
		{"https://h.example/c.yaml", "https://h.example/a/../c.yaml", false},
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/c/../b", true},
		{"file:///a/b", "/a/b", true},
		{"/a/b", "/a/b/c", false},
		// Tags and digests.
		{"oci://h.example/r:v1", "oci://h.example/r:v1", true},
		{"oci://h.example/r:v1", "oci://h.example/r:v2", false},
		{"oci://h.example/r:v1", "oci://h.example/r", false},
		{"oci://h.example/r:latest", "oci://h.example/r", true},
		{"oci://h.example/r:latest", "oci://h.example/r@" + someDigest, false},
		{"oci://h.example/r:v1", "oci://h.example/r:v1@" + someDigest, false},
		{"oci://h.example/*:v1", "oci://h.example/r:v1@" + someDigest, false},
		{"oci://h.example/r:*", "oci://h.example/r:v1@" + someDigest, true},
		{"oci://h.example/r:v*", "oci://h.example/r:v1@" + someDigest, false},
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example/r:v1@" + someDigest, true},
		{"oci-layout:///a/b:v1", "oci-layout:///a/b:v1@" + someDigest, false},
		{"oci://h.example/r:v*", "oci://h.example/r:v1.2.3", true},
		{"oci://h.example/r:v*", "oci://h.example/r:latest", false},
		{"oci://h.example/r:*", "oci://h.example/r@" + someDigest, false},
		{"oci://h.example/r@" + someDigest, "oci://h.example/r:v1@" + someDigest, true},
		{"oci://h.example/r@" + someDigest, "oci://h.example/r@" + otherDigest, false},
		{"oci://h.example/r@" + someDigest, "oci://h.example/r", false},
		{"oci://h.example/**@" + someDigest, "oci://h.example/r@" + someDigest, true},
		{"oci-layout:///a/b", "oci-layout:///a/b:v1", true},
		{"oci-layout:///a/b:v1", "oci-layout:///a/b", false},
		{"oci-layout:///a/*:v1", "oci-layout:///a/b:v1", true},
		{"oci-layout:///a/*:v1", "oci-layout:///a/b:v2", false},
		{"oci-layout:///a/**", "/a/b", false},
		// One segment.
		{"oci://h.example/team/*", "oci://h.example/team/r", true},
		{"oci://h.example/team/*", "oci://h.example/team/r/s", false},
		{"oci://h.example/team/*", "oci://h.example/team", false},
		{"oci://h.example/team/fn-*", "oci://h.example/team/fn-label:v1", true},
		{"oci://h.example/team/fn-*", "oci://h.example/team/other", false},
		{"oci://h.example/*-fn/x", "oci://h.example/a-fn/x", true},
		{"oci://h.example/a*b*c", "oci://h.example/abbc", true},
		{"oci://h.example/a*b*c", "oci://h.example/acb", false},
		{"/a/*/c.yaml", "/a/b/c.yaml", true},
		{"/a/*.yaml", "/a/.yaml", true},
		{"/a/./x/../*.yaml", "/a/b.yaml", true},
		// Segments.
		{"oci://h.example/**", "oci://h.example/r", true},
		{"oci://h.example/**", "oci://h.example/a/b/c:v1", true},
		{"oci://h.example/a/**", "oci://h.example/a", false},
		{"oci://h.example/a/**", "oci://h.example/ab/c", false},
		{"oci://h.example/**/x", "oci://h.example/a/x/b/x", true},
		{"oci://h.example/**/x", "oci://h.example/x", false},
		{"oci://h.example/a/**/z/*", "oci://h.example/a/b/z/z/y", true},
		{"oci://h.example/**/**", "oci://h.example/r", false},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/a/b/../../etc/passwd", false},
		{"/a/**", "/a", false},
		{"/**", "/etc/passwd", true},
		{"/**", "etc/passwd", false},
		// Hosts.
		{"oci://*.example.com/r", "oci://a.example.com/r", true},
		{"oci://*.example.com/r", "oci://A.EXAMPLE.com/r", true},
		{"oci://*.example.com/r", "oci://example.com/r", false},
		{"oci://*.example.com/r", "oci://a.b.example.com/r", false},
		{"oci://*.example.com/r", "oci://evil-example.com/r", false},
		{"oci://*.example.com/r", "oci://a.example.com.evil.org/r", false},
		{"oci://*.example.com/r", "oci://a.example.com:5000/r", false},
		{"oci://*.example.com:5000/r", "oci://a.example.com:5000/r", true},
		{"oci://reg-*.example.com/r", "oci://reg-eu.example.com/r", true},
		{"oci://h.example/**", "oci://h.example.evil.org/r", false},
		{"https://*.example.com/**", "https://a.example.com/x", true},
		{"https://*.example.com:443/**", "https://a.example.com/x", true},
		// Attacks on paths of URLs.
		{"https://h.example/**", "https://h.example/a/b", true},
		{"https://h.example/**", "https://h.example", false},
		{"https://h.example/**", "http://localhost/a", false},
		{"http://localhost:8080/*", "http://localhost:8080/a", true},
		{"https://localhost:8080/*", "http://localhost:8080/a", false},
		{"https://h.example/a/**", "https://h.example/a/../b", false},
		{"https://h.example/a/**", "https://h.example/a/./b", false},
		{"https://h.example/a/**", "https://h.example/a/%2e%2e/b", false},
		{"https://h.example/a/**", "https://h.example/a/.%2E/b", false},
		{"https://h.example/a/**", "https://h.example/a/..%2fb", false},
		{"https://h.example/a/**", "https://h.example/a/x%5c..%5cb", false},
		{"https://h.example/a/**", `https://h.example/a/..\b`, false},
		{"https://h.example/a/**", "https://h.example/a/..;/b", false},
		{"https://h.example/a/**", "https://h.example/a/%252e%252e/b", false},
		{"https://h.example/a/**", "https://h.example/a//b", false},
		{"https://h.example/a/**", "https://h.example/a/", false},
		{"https://h.example/a/**", "https://h.example/a/b?to=/c", false},
		{"https://h.example/a/**", "https://h.example/a/b?", false},
		{"https://h.example/a/**?v=1", "https://h.example/a/b?v=1", true},
		{"https://h.example/a/**?v=1", "https://h.example/a/b?v=2", false},
		{"https://h.example/a/**?v=1", "https://h.example/a/b", false},
		{"https://h.example/a/**", "https://h.example/a/b%3Fc", false},
		{"https://h.example/a/**", "https://h.example/a/b%00", false},
		{"https://h.example/a/**", "https://h.example/a/%C0%AE%C0%AE/b", false},
		{"https://h.example/a/**", "https://h.example/%61/b", true},
		{"https://h.example/a/**", "https://h.example/a/my%20file", true},
		{"https://h.example/é/*", "https://h.example/é/x", true},
		{"https://h.example/é/*", "https://h.example/%C3%A9/x", true},
		{"https://h.example/my%20files/*", "https://h.example/my%20files/x", true},
		{"https://h.example/a/**", "https://h.example.evil.org/a/b", false},
		{"https://h.example/a/**", "https://evil.org/h.example/a/b", false},
	})
}

// TestPatternMade checks Locators that Parse did not make.
func TestPatternMade(t *testing.T) {
	t.Parallel()
	for _, l := range []reference.Locator{
		{}, {Scheme: "memory", Name: "h.example/a/b"}, {Scheme: "https", Name: "https://u@h.example/a/b"},
		{Scheme: "https", Name: "https://h.example/a/%zz"}, {Scheme: "https", Name: "h.example/a/b"}, {Scheme: "https", Name: "https://h.example/a/%+f"},
		{Scheme: "oci", Name: "h.example/a/../b"}, {Scheme: "oci", Name: "h.example/a//b"}, {Scheme: "oci", Name: "h.example"},
		{Scheme: "oci", Name: "u@h.example/a/b"}, {Scheme: "https", Name: "https://x\\@h.example/a/b"},
	} {
		for _, s := range []string{"https://h.example/a/**", "oci://h.example/a/**", "oci://h.example/**", "https://*.example/**", "oci://*.example/**"} {
			if p, err := reference.ParsePattern(s); err != nil || p.Match(l) {
				t.Errorf("%s matches %+v, %v", s, l, err)
			}
		}
	}
	image, err := reference.ParseImage("alpine")
	if p, bad := reference.ParsePattern("oci://docker.io/library/*"); err != nil || bad != nil || !p.Match(image) {
		t.Errorf("%s, %v, %v", image, err, bad)
	}
	if (reference.Pattern{}).Match(reference.Locator{}) {
		t.Error("the zero pattern matches")
	}
}

func TestParsePatternRefuses(t *testing.T) {
	t.Parallel()
	for in, why := range map[string]string{
		"":                                        "empty",
		"*":                                       "relative",
		"***":                                     "relative",
		"ghcr.io/team/*":                          "scheme",
		"ghcr.io/team/fn":                         "scheme",
		"./x":                                     "scheme",
		"*://h.example/x":                         "scheme",
		"oci-layout://x/*":                        "relative",
		"file://x":                                "relative",
		"oci:h.example/*":                         "without //",
		"git::https://h.example/*":                "git",
		"ftp://h.example/*":                       "ftp",
		"oci://**":                                "** alone",
		"oci://*/x":                               "** alone",
		"oci://*.*/x":                             "** alone",
		"oci://*:5000/x":                          "** alone",
		"https://**":                              "** alone",
		"https://*":                               "** alone",
		"https://*/x":                             "** alone",
		"https://*?x":                             "** alone",
		"oci://example.*/x":                       "ends in a wildcard",
		"oci://reg*/x":                            "ends in a wildcard",
		"https://127.0.0.*/x":                     "ends in a wildcard",
		"oci://**.example.com/x":                  "one label",
		"oci://h.example:*/x":                     "port",
		"https://h.example:80*/x":                 "port",
		"oci://[::*]/x":                           "address",
		"http://h.example/*":                      "plain http",
		"https://u:p@h.example/*":                 "credentials",
		"https://h.example/*#x":                   "fragment",
		"https://h.example/a**":                   "whole segments",
		"https://h.example/**b/c":                 "whole segments",
		"oci://h.example/***":                     "whole segments",
		"oci://h.example/r:**":                    "whole segments",
		"oci://h.example/R/*":                     "lower case",
		"oci://h.example/a//*":                    "expected",
		"oci://h.example/../*":                    "expected",
		"oci://h.example/*:":                      "tag",
		"https://h.example/a/../*":                "no . and ..",
		"https://h.example/*/./b":                 "no . and ..",
		"https://h.example/*/%2e%2e/b":            "escapes only",
		"https://h.example/%2a/*":                 "%2A",
		"https://h.example//*":                    "empty segments",
		"https://h.example/*/":                    "empty segments",
		"https://*.example.com":                   "empty segments",
		"https://*.example.com/":                  "empty segments",
		"/a/*/../b":                               "no . and ..",
		"/a/**/":                                  "empty segments",
		"https://h.example/x?v=*":                 "query",
		"https://h.example/*?v=*":                 "query",
		"oci://h.example/*@sha256:*":              "digest",
		"oci://h.example/*@sha512:00":             "sha256",
		"oci://h.example/*\n":                     "control",
		"oci://h.example/\xff":                    "UTF-8",
		"https://h.example/" + manyStars(17):      "wildcards",
		"/" + strings.Repeat("x/", 1<<10) + "*":   "bytes",
		"/" + strings.Repeat("x/", 1<<12):         "bytes",
		"https://exämple.com/*":                   "ASCII",
		"oci://h.example/*?x":                     "expected",
		"https://h.example/*@" + someDigest + "x": "digest",
	} {
		p, err := reference.ParsePattern(in)
		if !isA[*reference.Error](err) || !strings.Contains(err.Error(), why) || !strings.HasPrefix(err.Error(), "pattern ") {
			t.Errorf("%.60q: %v, %v, want %q", in, p, err, why)
		}
	}
	if _, err := reference.ParsePattern("https://h.example/" + manyStars(16)); err != nil {
		t.Error(err)
	}
	if _, err := reference.ParsePattern("https://u:hush@h.example/*"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a password is shown: %v", err)
	}
}

func manyStars(n int) string { return strings.Repeat("*a", n) }

// TestPatternBounded checks patterns that need exponential time in some matchers.
func TestPatternBounded(t *testing.T) {
	t.Parallel()
	p := mustParsePattern(t, "https://h.example/"+strings.Repeat("**/*a*/", 4)+"b")
	q := mustParsePattern(t, "https://h.example/"+manyStars(16)+"b")
	for _, l := range []string{"https://h.example/" + strings.Repeat("a/", 2000) + "a", "https://h.example/" + strings.Repeat("a", 4000)} {
		if p.Match(mustParse(t, l)) || q.Match(mustParse(t, l)) {
			t.Errorf("%.30s matches", l)
		}
	}
}

func TestPatternCompare(t *testing.T) {
	t.Parallel()
	// Each is before the next one, in any order of input. Two spellings are one place.
	want := [][]string{
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example:443/r:v1@" + someDigest},
		{"oci://h.example/**@" + someDigest},
		{"oci://h.example/repo:v1"},
		{"oci://h.example/r:v1"},
		{"oci://h.example/**:v1"},
		{"oci://h.example/repo/deep", "oci://H.example./repo/deep", "oci://h.example:0443/repo/deep"},
		{"oci://h.example/repo/de*"},
		{"oci://h.example/repo:v*"},
		{"oci://h.example/repo"},
		{"oci://h.example/r*/x"},
		{"oci://h.example/r*"},
		{"oci://h.example/*/b/c"},
		{"oci://h.example/*/*/x"},
		{"oci://h.example/*/b"},
		{"oci://h.example/*"},
		{"oci://H.example/**", "oci://h.example/**", "oci://h.example.:443/**"},
		{"**"},
	}
	var ps []reference.Pattern
	rank := map[reference.Pattern]int{}
	for i, spellings := range want {
		for _, s := range spellings {
			p, err := reference.ParsePattern(s)
			if err != nil {
				t.Fatal(err)
			}
			ps, rank[p] = append(ps, p), i
		}
	}
	for _, p := range ps {
		for _, q := range ps {
			if got := p.Compare(q); got != cmp.Compare(rank[p], rank[q]) {
				t.Errorf("%s to %s: %d", p, q, got)
			}
		}
	}
	slices.Reverse(ps)
	slices.SortFunc(ps, reference.Pattern.Compare)
	if !slices.IsSortedFunc(ps, func(p, q reference.Pattern) int { return rank[p] - rank[q] }) {
		t.Errorf("sorted: %s", ps)
	}
}

func TestPatternJSON(t *testing.T) {
	t.Parallel()
	const text = `["**","oci://H.example/*:v1"]`
	var ps []reference.Pattern
	if err := json.Unmarshal([]byte(text), &ps); err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(ps); err != nil || string(data) != text || !ps[1].Match(mustParse(t, "oci://h.example/r:v1")) {
		t.Errorf("%s, %v", data, err)
	}
	if err := json.Unmarshal([]byte(`["oci://*/x"]`), &ps); !isA[*reference.Error](err) {
		t.Errorf("%v", err)
	}
}
