package reference

import (
	"net/url"
	"strings"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// Internal reports whether the place is on this machine, or in a network that only its
// neighbours reach, by its name or address alone: its disk, loopback, link-local and
// unspecified addresses, and what tells the machines of a cloud about themselves. No name
// server is asked, and a private network (10.0.0.0/8 and its kind) is not internal: companies
// keep their registries there.
func (l Locator) Internal() bool {
	return l.Local() || near.ByName(l.host()) >= near.Machine
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
	return near.Farthest(l.host()) == near.Machine && (other.Local() || near.ByName(other.host()) == near.Machine)
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
