package reference_test

import (
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
)

// TestSpellings checks that a spelling does not select a rule: places in one row are one place, for
// Same and as patterns.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, row := range [][]string{
		{"oci://ghcr.io/a/b:v1", "oci://GHCR.io/a/b:v1", "oci://ghcr.io:443/a/b:v1", "oci://ghcr.io./a/b:v1", "oci://ghcr.io.:443/a/b:v1", "oci://ghcr.io:/a/b:v1", "oci://ghcr.io:0443/a/b:v1"},
		{"oci://ghcr.io:5000/a/b", "oci://ghcr.io.:5000/a/b", "oci://ghcr.io:05000/a/b"},
		{"oci://ghcr.io:80/a/b"},
		{"oci://ghcr.io:4433/a/b"},
		{"oci://ghcr.io:0/a/b", "oci://ghcr.io:00/a/b"},
		{"oci://docker.io/library/x", "oci://docker.io/x", "oci://index.docker.io/x", "oci://registry-1.docker.io/library/x", "oci://Docker.io.:443/x",
			"oci://registry.hub.docker.com/x"},
		{"oci://docker.io/team/x", "oci://index.docker.io/team/x", "oci://registry-1.docker.io:443/team/x"},
		{"oci://docker.io:5000/x"},
		{"oci://ghcr.io/library/x"},
		{"oci://auth.docker.io/x"},
		{"oci://docker.io.example/x"},
		// Without TLS these are other servers.
		{"oci://localhost/x"},
		{"oci://localhost:443/x", "oci://LOCALHOST.:443/x"},
		{"oci://localhost./x"},
		{"oci://localhost:5000/x", "oci://localhost.:5000/x"},
		{"oci://127.0.0.1:443/x"},
		{"oci://127.0.0.1/x"},
		{"oci://[::1]:5000/x", "oci://[0:0::1]:5000/x"},
		{"oci://[2001:db8::a]/x", "oci://[2001:DB8:0::a]:443/x"},
		{"oci://192.0.2.1/x", "oci://[::ffff:192.0.2.1]/x"},
		{"https://h.example/x", "https://h.example./x", "https://H.example.:443/x", "https://h.example:0443/x", "HTTPS://h.example:/x"},
		{"https://h.example:80/x"},
		{"https://h.example/x?a", "https://h.example./x?a"},
		{"https://index.docker.io/x"},
		{"https://h.example/é", "https://h.example/%C3%A9", "https://h.example/%c3%a9", "https://h.example/%c3%A9"},
		{"https://h.example/%5B1%5D", "https://h.example/[1]", "https://h.example/%5b1]"},
		{"https://h.example/~a.b", "https://h.example/%7Ea.b", "https://h.example/%7e%61%2Eb"},
		{"https://h.example/a%20b", "https://h.example/a b"},
		{"https://h.example/a%7Cb%5E%60%22", "https://h.example/a|b^`\"", "https://h.example/a%7cb^%60%22"},
		{"https://h.example/x?a=~[é", "https://h.example/x?a=%7E%5b%c3%a9"},
		{"https://h.example/a!b"},
		{"https://h.example/a%21b"},
		{"https://h.example/a%2Fb", "https://h.example/a%2fb"},
		{"https://localhost/x", "https://localhost.:443/x"},
		{"http://localhost/x", "http://localhost:80/x", "http://localhost:080/x"},
		{"http://localhost:443/x"},
		{"oci-layout:///a/b", "oci-layout:///a/./b", "oci-layout:///a/c/../b", "oci-layout:///a/b/"},
		{"/a/b", "/a/./b", "file:///a/c/../b"},
	} {
		for _, s := range row {
			checkSpelling(t, s, row[0])
		}
	}
	different(t, "oci://localhost/x", "oci://localhost:443/x", "oci://localhost./x")
	different(t, "oci://127.0.0.1/x", "oci://127.0.0.1:443/x")
	different(t, "oci://ghcr.io/x", "oci://ghcr.io:80/x", "oci://ghcr.io:4433/x", "oci://ghcr.io:0/x")
	different(t, "oci://docker.io/x", "oci://docker.io:5000/x", "oci://auth.docker.io/x", "oci://docker.io.example/x", "oci://docker.io/library/library/x")
	different(t, "https://h.example/x", "https://h.example:80/x", "oci://h.example/x")
	different(t, "https://h.example/a/b", "https://h.example/a%2Fb", "https://h.example/a%252Fb", "https://h.example/a;/b", "https://h.example/A/b")
	different(t, "https://h.example/a!b", "https://h.example/a%21b", "https://h.example/a?b", "https://h.example/a%3Fb", "https://h.example/a%25b")
}

func checkSpelling(t *testing.T, s, first string) {
	t.Helper()
	p := mustParsePattern(t, s)
	q := mustParsePattern(t, first)
	a, b := mustParse(t, s), mustParse(t, first)
	if !a.Same(b) || !b.Same(a) || !p.Match(b) || !q.Match(a) || p.Compare(q) != 0 || q.Compare(p) != 0 {
		t.Errorf("%s is not %s: same %v, matches %v, is matched %v, compared %d", s, first, a.Same(b), p.Match(b), q.Match(a), p.Compare(q))
	}
	if a.String() != s && a.Scheme == reference.SchemeOCI {
		t.Errorf("%s is asked for at %s", s, a)
	}
}

// different checks that all are different places.
func different(t *testing.T, all ...string) {
	t.Helper()
	for i, s := range all {
		p := mustParsePattern(t, s)
		for j, other := range all {
			q := mustParse(t, other)
			if i != j && (p.Match(q) || mustParse(t, s).Same(q)) {
				t.Errorf("%s is taken for %s", s, other)
			}
		}
	}
}

func TestWildSpellings(t *testing.T) {
	t.Parallel()
	checkMatches(t, []match{
		{"oci://ghcr.io/vendor/**", "oci://ghcr.io:443/vendor/x", true},
		{"oci://ghcr.io/vendor/**", "oci://ghcr.io./vendor/x", true},
		{"oci://ghcr.io.:443/vendor/**", "oci://ghcr.io/vendor/x", true},
		{"oci://ghcr.io:5000/vendor/**", "oci://ghcr.io/vendor/x", false},
		{"oci://*.example.com/**", "oci://a.example.com.:443/x", true},
		{"oci://*.example.com.:443/**", "oci://a.example.com/x", true},
		{"oci://docker.io/**", "oci://docker.io/x", true},
		{"oci://docker.io/**", "oci://registry-1.docker.io/a/x", true},
		{"oci://registry-1.docker.io/**", "oci://docker.io/x", true},
		{"oci://docker.io/*", "oci://docker.io/library/x", true},
		{"oci://docker.io/*", "oci://index.docker.io/x", true},
		{"oci://docker.io/*", "oci://docker.io/team/x", false},
		{"oci://docker.io/x*:v1", "oci://docker.io/xy:v1", true},
		{"oci://docker.io/library/*", "oci://index.docker.io/x", true},
		{"oci://docker.io/*/x", "oci://docker.io/x", true},
		{"oci://docker.io/x:*", "oci://docker.io/library/x:v1", true},
		{"oci://*.docker.io/**", "oci://index.docker.io/x", true},
		{"oci://*.docker.io/**", "oci://registry-1.docker.io/team/x", true},
		{"oci://registry-*.docker.io/**", "oci://docker.io/team/x", true},
		{"oci://auth-*.docker.io/**", "oci://docker.io/team/x", false},
		{"oci://*.docker.io/**", "oci://docker.io.example/team/x", false},
		{"oci://*.io/**", "oci://index.docker.io/team/x", true},
		{"oci://index.*.io/**", "oci://index.ghcr.io/team/x", true},
		{"oci://index.*.io/**", "oci://docker.io/team/x", true},
		{"oci://*.docker.io:5000/**", "oci://docker.io/team/x", false},
		{"https://h.example/**", "https://h.example.:443/x", true},
		{"https://h.example./**", "https://h.example/x", true},
		{"https://*.example.com/**", "https://a.example.com./x", true},
		{"https://*.docker.io/**", "https://docker.io/x", false},
		{"http://localhost:080/*", "http://localhost/x", true},
	})
	for _, s := range []string{"oci://example.*./x", "https://example.*./x", "oci://*./x", "oci://example.*.:443/x", "oci://example.*../x"} {
		if p, err := reference.ParsePattern(s); err == nil {
			t.Errorf("%s is read: its host could be anybody's", p)
		}
	}
	a, aerr := reference.ParsePattern("https://h.example/é/my%20file*")
	b, berr := reference.ParsePattern("https://h.example./%C3%A9/my%20file*")
	if aerr != nil || berr != nil || a.Compare(b) != 0 {
		t.Errorf("%v, %v: escapes weigh %d", aerr, berr, a.Compare(b))
	}
}

// TestKeys checks that Normal does not unify spellings with different responses.
func TestKeys(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		"oci://docker.io/x":     "oci://docker.io/library/x",
		"oci://docker.io/a/x":   "oci://index.docker.io/a/x",
		"oci://ghcr.io/x":       "oci://ghcr.io:443/x",
		"oci://ghcr.io/a":       "oci://ghcr.io./a",
		"https://h.example/x":   "https://h.example./x",
		"oci://localhost:443/x": "oci://localhost.:443/x",
	} {
		one, other := mustParse(t, a), mustParse(t, b)
		if one.Normal() == other.Normal() || !one.Same(other) {
			t.Errorf("%s and %s: one key %v, same %v", a, b, one.Normal() == other.Normal(), one.Same(other))
		}
	}
}

// TestMayMatch checks that MayMatch covers spellings that Match does not know, and nothing else.
func TestMayMatch(t *testing.T) {
	t.Parallel()
	const web = "https://h.example"
	for _, c := range []struct {
		pattern, place string
		want           bool
	}{
		// Hidden parts of the place.
		{web + "/a/b", web + "//a/b", true},
		{web + "/a/b", web + "/x/../a/b", true},
		{web + "/a/b", web + "/a%2Fb", true},
		{web + "/a/b", web + "/a%5Cb", true},
		{web + "/a/b", web + `/a\b`, true},
		{web + "/a/b", web + "/%252e/b", true},
		{web + "/a/b", "https://other.example//a/b", false},
		{web + "/a/b", web + "/a/c", false},
		// Hidden parts of the pattern.
		{web + "/@s/x", web + "/%40s/x", true},
		{web + "/%40s/x", web + "/@s/x", true},
		{web + "/%40s/x", web + "/@s/y", false},
		{web + "/%40s/x", "https://other.example/@s/x", false},
		{web + "/a/../b", web + "/b", true},
		{web + "//b", web + "/b", true},
		{web + "/b/", web + "/b", true},
		{web + "/a%2Fb", web + "/a/b", true},
		{web + "/a%252Fb", web + "/a/b", true},
		{web + "/a%5Cb", web + "/a/b", true},
		{web + `/a\b`, web + "/a/b", true},
		{web + "/b;v=1", web + "/b", true},
		{web + "/b;v=1", web + "/b;v=2", true},
		{web + "/b;v=1", web + "/c", false},
		// Queries.
		{web + "/x?v=1", web + "/x?v=1&z", true},
		{web + "/x?v=1", web + "/x?z&v=%31", true},
		{web + "/x?v=1&w=2", web + "/x?w=2&v=1", true},
		{web + "/x?v=1", web + "/x?v=2", false},
		{web + "/x?v=1", web + "/x", false},
		{web + "/x?v=1", web + "/y?v=1&z", false},
		{web + "/*?v=1", web + "/y?v=1&z", true},
		{web + "/*", web + "/y?v=1", false}, // which Spellings sees to
		{web + "/x?", web + "/x", true},
		// Ports.
		{"oci://127.0.0.1/r", "oci://127.0.0.1:80/r", true},
		{"oci://127.0.0.1/r", "oci://127.0.0.1:443/r:v1", true},
		{"oci://127.0.0.1:80/r", "oci://127.0.0.1/r", true},
		{"oci://127.0.0.1:443/r", "oci://127.0.0.1:80/r", true},
		{"oci://127.0.0.1/r", "oci://127.0.0.1:8080/r", false},
		{"oci://127.0.0.1:8080/r", "oci://127.0.0.1:80/r", false},
		{"oci://127.0.0.1/r", "oci://127.0.0.1:80/s", false},
		{"oci://h.example/r", "oci://h.example:80/r", true},
		{"oci://*.example/**", "oci://h.example:80/r", true},
		{"oci://*.example:80/**", "oci://h.example/r", true},
		{"oci://h.example/r:v1", "oci://h.example:80/r:v2", false},
		{"https://h.example/x", "https://h.example:80/x", false},
		{web + "/a/b", web + "/%C0%AE%C0%AE/a/b", true},
		// Addresses that are translated.
		{"https://192.0.2.1/x", "https://[64:ff9b::192.0.2.1]/x", true},
		{"oci://192.0.2.1:5000/**", "oci://[2002:c000:201::]:5000/x", true},
		{"https://[64:ff9b::192.0.2.1]/x", "https://192.0.2.1/x", true},
		{"https://192.0.2.1/x", "https://[64:ff9b::192.0.2.2]/x", false},
		{"https://192.0.2.1/x", "https://[64:ff9b::192.0.2.1]:8443/x", false},
		{"https://[2001:db8::1]/x", "https://[2001:db8::2]/x", false},
		// Names of this machine.
		{"oci://localhost:5000/r", "oci://127.0.0.1:5000/r", true},
		{"oci://127.0.0.1:5000/*", "oci://[::1]:5000/r", true},
		{"oci://[::1]:5000/r", "oci://LOCALHOST.:5000/r", true},
		{"oci://localhost:5000/r", "oci://127.1.2.3:5000/r", true},
		{"oci://localhost:5000/r", "oci://0.0.0.0:5000/r", true},
		{"oci://localhost:5000/r", "oci://reg.localhost:5000/r", true},
		{"oci://localhost:5000/r", "oci://127.0.0.1:5001/r", false},
		{"oci://localhost:5000/r", "oci://10.0.0.1:5000/r", false},
		{"http://localhost:8080/x", "http://127.0.0.1:8080/x", true},
		{"http://localhost:8080/x", "https://127.0.0.1:8080/x", false},
		// Tags beside a digest.
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example/r@" + someDigest, true},
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example/r:v2@" + someDigest, true},
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example:80/r:v2@" + someDigest, true},
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example/r:v1@" + otherDigest, false},
		{"oci://h.example/r:v1@" + someDigest, "oci://h.example/s:v2@" + someDigest, false},
		{"oci-layout:///a:v1@" + someDigest, "oci-layout:///a@" + someDigest, true},
		// No other place.
		{"oci://h.example/r", "oci://other.example/r", false},
		{"/a/b", "/a/c", false},
	} {
		p, err := reference.ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if l := mustParse(t, c.place); p.MayMatch(l) != c.want || p.Match(l) {
			t.Errorf("%s might be %s: %v, want %v (matches: %v)", c.pattern, c.place, p.MayMatch(l), c.want, p.Match(l))
		}
	}
}
