package reference_test

import (
	"cmp"
	"net/netip"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
)

// FuzzPattern checks that a pattern prints as it was read, matches its own place, and no place of
// another scheme or, apart from wildcards, of another host. Patterns that Compare reports as equal
// match the same places, in every spelling.
func FuzzPattern(f *testing.F) {
	for _, s := range [][2]string{
		{"**", "oci://h.example/r"}, {"oci://*.example.com/**", "oci://a.example.com/b/c:v1"}, {"https://h.example/*?q", "https://h.example/%2e%2e/x?q"},
		{"/a/../*/b", "/c/b"}, {"oci-layout:///a:b/**:v*", "oci-layout:///a:b/c:v1"}, {"https://h.example:443/é*", "HTTPS://H.example/%C3%A9"},
		{"oci://h.example/r@" + someDigest, "oci://h.example/r:v1@" + someDigest}, {"http://localhost:80/*", "http://localhost/x"},
		{"oci://h.example.:0443/*", "oci://H.example/*"}, {"oci://index.docker.io/x", "oci://docker.io/library/x"}, {"oci://*.docker.io/**", "oci://docker.io/a"},
		{"oci://[0::1]:5/*", "oci://[::1]:5/x"}, {"oci://localhost.:5/r", "oci://localhost:5/*"}, {"/a/./b", "/a/b"}, {"https://h./é*", "https://h/%C3%A9*"},
		{"/**", "/://:h://:/r"}, {"https://h.example/%7E%c3%a9%21", "https://h.example/~é!"}, {"oci://localhost:80/*", "oci://[::1]:443/x"},
		{"https://h.example/x?a=%7e", "https://h.example/x?b&a=~"}, {"oci://*.r,io/*", "oci://*>le.com/*"}, {"https://*.r;io/*", "https://a!.io/*"}, {"oci://*.0x7f/*", "https://[fe80::1%25eth0]/*"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, place string) {
		p, err := reference.ParsePattern(pattern)
		if err != nil {
			if !isA[*reference.Error](err) {
				t.Fatalf("%q: %T", pattern, err)
			}
			return
		}
		again, err := reference.ParsePattern(p.String())
		if p.String() != pattern || err != nil || again.Compare(p) != 0 || again != p {
			t.Fatalf("%q is written as %q: %v", pattern, p, err)
		}
		if !strings.Contains(pattern, "*") {
			if l, err := reference.Parse(pattern); err != nil || !p.Match(l) {
				t.Fatalf("%q does not match itself: %v", pattern, err)
			}
		}
		if s := p.Sample(); s.Scheme != "" && !p.Match(s) && !p.MayMatch(s) {
			t.Fatalf("%q does not match its sample %s", pattern, s)
		}
		if q, err := reference.ParsePattern(place); err == nil {
			compareTwo(t, p, q)
		}
		l, err := reference.Parse(place)
		if err != nil || !p.Match(l) || pattern == "**" {
			return
		}
		own, err := reference.Parse(strings.ReplaceAll(pattern, "*", "x"))
		if err != nil || own.Scheme != l.Scheme || !sameHost(hostOf(pattern), hostOf(place)) {
			t.Fatalf("%q matches %q: %v", pattern, place, err)
		}
	})
}

// compareTwo checks that Compare is consistent, and that patterns it reports as equal are.
func compareTwo(t *testing.T, p, q reference.Pattern) {
	t.Helper()
	c := p.Compare(q)
	if c != -q.Compare(p) {
		t.Fatalf("%s to %s is %d, and back %d", p, q, c, q.Compare(p))
	}
	if c != 0 {
		return
	}
	for _, s := range []string{p.String(), q.String()} {
		l, err := reference.Parse(strings.ReplaceAll(s, "*", "x"))
		if err == nil && p.Match(l) != q.Match(l) {
			t.Fatalf("%s and %s are the same, and match %s: %v, %v", p, q, l, p.Match(l), q.Match(l))
		}
	}
}

// hostOf returns the host of a reference, normalised.
func hostOf(s string) string {
	scheme, rest, _ := strings.Cut(strings.ToLower(s), "://")
	if scheme != "oci" && scheme != "http" && scheme != "https" { // the colon of a path
		return ""
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	rest, _, _ = strings.Cut(rest, "@sha256:")
	port := ""
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest, port = rest[:i], rest[i+1:]
		if port != "" {
			port = cmp.Or(strings.TrimLeft(port, "0"), "0")
		}
	}
	usual := "443"
	if strings.HasPrefix(strings.ToLower(s), "http:") {
		usual = "80"
	}
	if port == usual {
		port = ""
	}
	rest = strings.TrimSuffix(rest, ".")
	if addr, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		rest = addr.Unmap().String()
	}
	if strings.HasPrefix(strings.ToLower(s), "oci:") && (rest == "index.docker.io" || rest == "registry-1.docker.io" || rest == "registry.hub.docker.com") {
		rest = "docker.io"
	}
	return rest + ":" + port
}

func sameHost(want, got string) bool {
	if got == "docker.io:" {
		return sameLabels(want, got) || sameLabels(want, "index."+got) || sameLabels(want, "registry-1."+got) || sameLabels(want, "registry.hub.docker.com:")
	}
	return sameLabels(want, got)
}

func sameLabels(want, got string) bool {
	wants, gots := strings.Split(want, "."), strings.Split(got, ".")
	if len(wants) != len(gots) {
		return false
	}
	for i, w := range wants {
		if !strings.Contains(w, "*") && w != gots[i] {
			return false
		}
	}
	return true
}
