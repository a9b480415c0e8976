package reference

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// canonical returns the spelling in which places are compared with each other and with patterns. It
// goes further than Normal: two spellings that it unifies may be requested differently, and get
// different responses.
func (l Locator) canonical() Locator {
	name := l.canonicalName()
	l = l.Normal()
	l.Name = name
	return l
}

func (l Locator) canonicalName() string {
	switch l.Scheme {
	case SchemeOCI:
		return canonicalRepository(l.Name)
	case SchemeHTTPS:
		u, err := url.Parse(l.normalName())
		if err != nil {
			return l.Name
		}
		u.Host = canonicalHost(u.Scheme, u.Host)
		plain := escaped(u.EscapedPath(), "/")
		if decoded, err := url.PathUnescape(plain); err == nil {
			u.Path, u.RawPath = decoded, plain
		}
		u.RawQuery = escaped(u.RawQuery, "/?")
		return u.String()
	}
	return l.normalName()
}

// escaped writes a path or a query with the escapes of RFC 3986, normalised by section 6.2.2: in
// upper case, and only for characters that need one. Characters with another meaning when escaped
// stay as written.
func escaped(s, more string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, was := s[i], false
		if c == '%' {
			n, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				b.WriteByte(c)
				continue
			}
			c, was = byte(n), true
			i += 2
		}
		if unreserved(c) || !was && strings.IndexByte(subDelims+":@"+more, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
	}
	return b.String()
}

// subDelims are the sub-delims of RFC 3986, which may be in a path.
const subDelims = "!$&'()*+,;="

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// The names of Docker Hub.
const (
	DockerName  = "docker.io"            // in references
	DockerAlias = "index.docker.io"      // in references, and the key of its credentials
	DockerHost  = "registry-1.docker.io" // the host that serves it
	dockerHub   = "registry.hub.docker.com"
)

// dockerNames are the host names of Docker Hub.
func dockerNames() []string { return []string{DockerName, DockerAlias, DockerHost, dockerHub} }

// canonicalRepository normalises host/repository, of a place or of a pattern.
func canonicalRepository(name string) string {
	host, repo, _ := strings.Cut(name, "/")
	host = canonicalHost(SchemeOCI, host)
	if slices.Contains(dockerNames(), host) {
		host = DockerName
	}
	if host == DockerName && repo != every && !strings.Contains(repo, "/") {
		repo = "library/" + repo
	}
	return host + "/" + repo
}

// Spellings returns the references that lead to the same content and that the author of a reference
// can choose between: beside a digest any tag or none, in a URL any query or parameters after a
// semicolon, because many servers ignore unknown ones. Rules are looked up for each of them. Beside
// a digest there is always a tag, so that patterns for any tag match. A written tag is returned
// once more without the digest. The result is never empty.
func (l Locator) Spellings() []Locator {
	out := []Locator{l}
	switch {
	case l.Digest == "":
	case l.Tag == "":
		out[0].Tag = DefaultTag
	default:
		out = append(out, l.WithDigest(""))
	}
	if l.Scheme == SchemeHTTPS && strings.ContainsAny(l.Name, "?;") {
		plain := l
		plain.Name, _, _ = strings.Cut(l.Name, "?")
		segs := strings.Split(plain.Name, "/")
		for i := range segs {
			segs[i], _, _ = strings.Cut(segs[i], ";")
		}
		plain.Name = strings.Join(segs, "/")
		out = append(out, plain)
	}
	return out
}

// canonicalHost normalises host[:port] of a place: lower case, an address in its shortest form,
// without a trailing dot, without zeros before the port, and without the default port.
//
// A registry on loopback may be requested without TLS, unless its name ends in a dot. So its port
// is kept, and the dot if it has none: two servers on this machine stay different.
func canonicalHost(scheme, host string) string {
	host = strings.ToLower(host)
	name := near.HostOnly(host)
	if strings.Contains(name, ":") && name[0] != '[' {
		return host // not a valid host
	}
	port := strings.TrimPrefix(host[len(name):], ":")
	if port != "" {
		port = cmp.Or(strings.TrimLeft(port, "0"), "0")
	}
	full := strings.TrimSuffix(name, ".")
	plain := scheme == SchemeOCI && near.Loopback(full) // may be requested without TLS
	if full != "" && !strings.HasSuffix(full, ".") && (port != "" || !plain) {
		name = full
	}
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil && addr.Zone() == "" {
		name = "[" + addr.String() + "]"
		if addr = addr.Unmap(); addr.Is4() {
			name = addr.String()
		}
	}
	usual := "443"
	if scheme == "http" {
		usual = "80"
	}
	if port == "" || port == usual && !plain {
		return name
	}
	return name + ":" + port
}

// AnyTag reports whether the reference is a whole layout, whose content may have any tag.
func (l Locator) AnyTag() bool { return l.Scheme == SchemeLayout && l.Tag == "" && l.Digest == "" }
