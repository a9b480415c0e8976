package registry

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// Internal reports whether the place is on this machine, or in a network that only its
// neighbours reach, by its name or address alone: its disk, loopback, link-local and
// unspecified addresses, and what tells the machines of a cloud about themselves. No name
// server is asked, and a private network (10.0.0.0/8 and its kind) is not internal: companies
// keep their registries there.
func (l Locator) Internal() bool {
	return l.Local() || nearestBy(l.host()) >= machine
}

// MayName reports whether what is read at the place may name another one to be asked. A file
// of this machine's disk may name every place, what this machine itself serves may name the
// machine, and everything may name its own host. Nobody else is led to a place that is
// Internal. It errs on the side of no.
func (l Locator) MayName(other Locator) bool {
	if l.Local() || !other.Internal() {
		return true
	}
	if !other.Local() && strings.EqualFold(l.host(), other.host()) {
		return true
	}
	return farthestBy(l.host()) == machine && (other.Local() || nearestBy(other.host()) == machine)
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
