package registry

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// Internal reports whether the place is on this machine, or in a network that only its
// neighbours reach, by its name or address alone: its disk, loopback, link-local and
// unspecified addresses. No name server is asked, and a private network (10.0.0.0/8 and
// its kind) is not internal: companies keep their registries there.
func (l Locator) Internal() bool {
	return l.Local() || onThisMachine(l.host())
}

// host is the host of a place that has one, without port and brackets.
func (l Locator) host() string {
	switch l.Scheme {
	case SchemeOCI:
		authority, _, _ := strings.Cut(l.Name, "/")
		return (&url.URL{Host: authority}).Hostname()
	case SchemeHTTPS:
		return hostnameOf(l.Name)
	}
	return hostnameOf(l.Scheme + "://" + l.Name)
}

func hostnameOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// internal is what a stranger may not send this machine to: itself, and the private
// networks that it may be in.
func internal(host string) bool {
	addr, ok := address(host)
	return onThisMachine(host) || ok && (addr.IsPrivate() || shared().Contains(addr))
}

// shared is the address space between a provider and its customers, RFC 6598: it holds
// the metadata services of some clouds.
func shared() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10) }

// onThisMachine errs on the side of yes: it is asked in order to refuse. That a place is
// surely on loopback, and so may be spoken to without TLS, is what loopback says.
func onThisMachine(host string) bool {
	name := bareName(host)
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true // systems dial themselves where there is no host
	}
	if addr, ok := address(host); ok {
		return addr.IsLoopback() || addr.IsUnspecified() || addr.IsLinkLocalUnicast() ||
			addr.IsLinkLocalMulticast() || addr.IsInterfaceLocalMulticast()
	}
	return oddAddress().MatchString(name)
}

// oddAddress finds what some resolvers take for an IPv4 address: 127.1, 2130706433,
// 0x7f.0.0.1. No domain ends in a number.
var oddAddress = lazy(`^(.*\.)?([0-9]+|0x[0-9a-f]*)$`) //nolint:gochecknoglobals // a constant that is compiled when needed

// address reads an IP address, of whatever zone.
func address(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(bareName(host))
	return addr.Unmap().WithZone(""), err == nil
}

// bareName is a host without what does not change where it leads: case, and the dot
// behind a full name.
func bareName(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// ascii reports whether a host is written as it is looked up. HTTP clients map other
// letters, and what looks like a name may then be an address.
func ascii(host string) bool {
	return strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
