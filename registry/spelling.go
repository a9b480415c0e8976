package registry

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"
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
		return u.String()
	}
	return l.normalName()
}

// canonicalRepository spells host/repository. The repository may be that of a pattern.
func canonicalRepository(name string) string {
	host, repo, _ := strings.Cut(name, "/")
	host = canonicalHost(SchemeOCI, host)
	if host == dockerAlias || host == dockerHost {
		host = dockerName
	}
	if host == dockerName && repo != every && !strings.Contains(repo, "/") {
		repo = "library/" + repo
	}
	return host + "/" + repo
}

// canonicalHost spells host[:port] of a place: in lower case, an address in its shortest
// form, without the dot behind a full name, without zeros before the port, and without the
// port that is meant anyway.
//
// A registry on loopback is spoken to without TLS, but not where its name ends in a dot: its
// port stays, and the dot where it has none, so that two servers of this machine stay two.
func canonicalHost(scheme, host string) string {
	host = strings.ToLower(host)
	name := hostOnly(host)
	if strings.Contains(name, ":") && name[0] != '[' {
		return host // nothing that can be asked
	}
	port := strings.TrimPrefix(host[len(name):], ":")
	if port != "" {
		port = cmp.Or(strings.TrimLeft(port, "0"), "0")
	}
	full := strings.TrimSuffix(name, ".")
	plain := scheme == SchemeOCI && loopback(full) // may be spoken to without TLS
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
