package reference

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// MayMatch reports whether a place could be in the set although Match cannot see it, because its
// spelling differs:
//
//   - its path contains an empty segment, . or .., a backslash or an escape; its host matches, and
//     its digest if the pattern has one;
//   - it is a layout without a tag, which may contain any tag;
//   - it has the digest of the pattern and another tag or none beside it;
//   - its host has the port that krmcat uses by default, is another name of this machine, or is an
//     address that is translated to the pattern's;
//   - it is a URL, and the pattern has such a path or a query that is a part of the place's.
//
// It serves rules that refuse, so it returns true where it is uncertain.
func (p Pattern) MayMatch(l Locator) bool {
	n := l.canonical()
	if n.AnyTag() && p.place.Tag != "" {
		p.place.Tag = ""
		return p.Match(l)
	}
	if p.place.Tag != "" && p.place.Digest != "" && p.place.Digest == n.Digest {
		p.place.Tag = "" // the digest decides
		return p.Match(l) || p.MayMatch(l)
	}
	if p.all || p.place.Scheme != n.Scheme || p.place.Digest != "" && p.place.Digest != n.Digest {
		return false
	}
	want, open := p.place.parts()
	got, plain := n.parts()
	beside := nearlySame(n.Scheme, want.root, got.root)
	switch {
	case !beside && !p.matchHost(want.root, got.root):
		return false
	case !plain:
		return true
	case beside:
		p.place.Name = got.root + strings.TrimPrefix(p.place.Name, want.root)
		return p.Match(l) || p.MayMatch(l)
	case n.Scheme != SchemeHTTPS:
		return false
	}
	odd := !p.wild && (!open || strings.Contains(p.place.Name, ";")) || want.query != "" && want.query != got.query
	return odd && partOf(want.query, got.query) && matchSegments(loosely(want), loosely(got))
}

// nearlySame reports whether two different spellings of a host may name one server. This machine
// has many names, and a registry without a port is requested at the port of https or http.
func nearlySame(scheme, want, got string) bool {
	wantScheme, want := cutRoot(want)
	gotScheme, got := cutRoot(got)
	if scheme != SchemeOCI && scheme != SchemeHTTPS || wantScheme != gotScheme || want == got {
		return false
	}
	wantName, gotName := near.HostOnly(want), near.HostOnly(got)
	if !matchRoot(wantName, gotName) && !sameServer(strings.Trim(wantName, "[]"), strings.Trim(gotName, "[]")) {
		return false
	}
	port := func(host, name string) string {
		p := host[len(name):]
		if scheme == SchemeOCI && (p == ":80" || p == ":443") {
			return ""
		}
		return p
	}
	return port(want, wantName) == port(got, gotName)
}

// sameServer reports whether both are names of this machine, or addresses of which one is
// translated to the other.
func sameServer(a, b string) bool {
	if near.ByName(a) == near.ThisMachine && near.ByName(b) == near.ThisMachine {
		return true
	}
	one, isOne := near.Address(a)
	other, isOther := near.Address(b)
	if !isOne || !isOther {
		return false
	}
	ends := func(addr netip.Addr) []netip.Addr { return append(near.Embedded(addr.As16()), addr) }
	return slices.ContainsFunc(ends(one), func(end netip.Addr) bool { return slices.Contains(ends(other), end) })
}

// cutRoot splits the scheme, if there is one, from a root.
func cutRoot(root string) (scheme, host string) {
	if scheme, host, found := strings.Cut(root, "://"); found {
		return scheme, host
	}
	return "", root
}

// loosely returns the path of a URL as the most lenient server reads it. Its wildcards stay.
func loosely(p parts) []string {
	segs := slices.Clone(p.segs)
	for i, s := range segs {
		s, _, _ = strings.Cut(s, ";")
		segs[i] = decoded(s)
	}
	name := strings.ReplaceAll(strings.Join(segs, "/"), `\`, "/")
	return strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
}

// decoded removes up to three levels of escapes, because some servers stand behind others.
func decoded(s string) string {
	for range 3 {
		t, err := url.PathUnescape(s)
		if err != nil || t == s {
			break
		}
		s = t
	}
	return s
}

// partOf reports whether the query got has all parameters of the query want.
func partOf(want, got string) bool {
	asks := func(query string) []string {
		all := strings.FieldsFunc(strings.TrimPrefix(query, "?"), func(r rune) bool { return r == '&' || r == ';' })
		for i, one := range all {
			if plain, err := url.QueryUnescape(one); err == nil {
				all[i] = plain
			}
		}
		return all
	}
	have := asks(got)
	return !slices.ContainsFunc(asks(want), func(one string) bool { return !slices.Contains(have, one) })
}
