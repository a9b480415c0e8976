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

// canonical is the spelling in which places are compared, with each other and with what
// somebody trusts or demands. It goes further than Normal: what is asked under two spellings
// may be answered in two ways, and is one place all the same.
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

// escaped writes a path or a query with the escapes that RFC 3986 wants there, in section 6.2.2's one
// spelling: in upper case, and only for what cannot stand as it is. What means something else
// when it is escaped stays as it is written.
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

// subDelims are RFC 3986's, which may stand in a path.
const subDelims = "!$&'()*+,;="

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// The names of Docker's own registry.
const (
	DockerName  = "docker.io"            // as it is written
	DockerAlias = "index.docker.io"      // as it is written too, and what logins are kept under
	DockerHost  = "registry-1.docker.io" // as it is asked
	dockerHub   = "registry.hub.docker.com"
)

// dockerNames are the names under which Docker's own registry answers.
func dockerNames() []string { return []string{DockerName, DockerAlias, DockerHost, dockerHub} }

// canonicalRepository spells host/repository. The repository may be that of a pattern.
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

// Spellings are the ways to write a place among which whoever writes a reference may choose
// without a change in what is fetched: beside a digest any tag or none, and behind a URL any
// query, or behind a semicolon any parameter, since many servers pass over what they do not know. A rule has to be looked up by
// each of them. By a digest there is always some tag, so that patterns for any tag match; a tag
// that was written is given once more without the digest. There is always one spelling.
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

// canonicalHost spells host[:port] of a place: in lower case, an address in its shortest
// form, without the dot behind a full name, without zeros before the port, and without the
// port that is meant anyway.
//
// A registry on loopback is spoken to without TLS, but not where its name ends in a dot: its
// port stays, and the dot where it has none, so that two servers of this machine stay two.
func canonicalHost(scheme, host string) string {
	host = strings.ToLower(host)
	name := near.HostOnly(host)
	if strings.Contains(name, ":") && name[0] != '[' {
		return host // nothing that can be asked
	}
	port := strings.TrimPrefix(host[len(name):], ":")
	if port != "" {
		port = cmp.Or(strings.TrimLeft(port, "0"), "0")
	}
	full := strings.TrimSuffix(name, ".")
	plain := scheme == SchemeOCI && near.Loopback(full) // may be spoken to without TLS
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

// AnyTag reports whether a place is a layout as a whole: what is found there may have any tag,
// whichever is written elsewhere.
func (l Locator) AnyTag() bool { return l.Scheme == SchemeLayout && l.Tag == "" && l.Digest == "" }
