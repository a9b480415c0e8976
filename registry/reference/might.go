package reference

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// Might reports whether a place could be in the set for all that Match can tell, though it is
// spelled in another way:
//
//   - it hides what it names, by an empty segment, . or .., a backslash or an escape; then the
//     host is right, and the digest is where the pattern has one;
//   - it is a layout that is named without a tag: what is in it may have any;
//   - it has the digest that the pattern has, and another tag or none beside it;
//   - its host has the port that krmcat asks where none is written, is another name of this
//     machine, or an address that is translated to the pattern's;
//   - it is a URL, and the pattern hides what it names, or has a query that is part of the
//     place's.
//
// It is asked in order to refuse, and errs on the side of yes.
func (p Pattern) Might(l Locator) bool {
	n := l.canonical()
	if n.AnyTag() && p.place.Tag != "" {
		p.place.Tag = ""
		return p.Match(l)
	}
	if p.place.Tag != "" && p.place.Digest != "" && p.place.Digest == n.Digest {
		p.place.Tag = "" // the digest decides
		return p.Match(l) || p.Might(l)
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
		return p.Match(l) || p.Might(l)
	case n.Scheme != SchemeHTTPS:
		return false
	}
	odd := !p.wild && (!open || strings.Contains(p.place.Name, ";")) || want.query != "" && want.query != got.query
	return odd && partOf(want.query, got.query) && matchSegments(loosely(want), loosely(got))
}

// nearlySame tells two hosts that are written in two ways and may be one server: this machine
// has many names, and a registry is asked at the port of https, or of http, where none is written.
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

// sameServer tells names of this machine, and addresses of which one is translated to the other.
func sameServer(a, b string) bool {
	if near.ByName(a) == near.Machine && near.ByName(b) == near.Machine {
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

// cutRoot takes the scheme off a root that has one.
func cutRoot(root string) (scheme, host string) {
	if scheme, host, found := strings.Cut(root, "://"); found {
		return scheme, host
	}
	return "", root
}

// loosely reads the path of a URL as the server does that forgives most. Its wildcards stay.
func loosely(p parts) []string {
	segs := slices.Clone(p.segs)
	for i, s := range segs {
		s, _, _ = strings.Cut(s, ";")
		segs[i] = decoded(s)
	}
	name := strings.ReplaceAll(strings.Join(segs, "/"), `\`, "/")
	return strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
}

// decoded takes escapes away, and those below them: some servers stand behind others.
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

// partOf reports whether a query asks for all that another one does.
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
