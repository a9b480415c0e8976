package reference

import (
	"net/url"
	"strings"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// Internal reports whether the name or address of the place is on this machine, or reachable by its
// neighbours only: its disk, loopback, link-local and unspecified addresses, and metadata services
// of clouds. No name server is queried. A private network (such as 10.0.0.0/8) is not internal,
// because companies keep their registries there.
func (l Locator) Internal() bool {
	return l.Local() || near.ByName(l.host()) >= near.ThisMachine
}

// MayName reports whether content of this place may refer to another one. A local file may refer to
// every place, content served by this machine to places of this machine, and all content to its own
// host. Nothing else may refer to a place that is Internal. It returns false where it is uncertain.
func (l Locator) MayName(other Locator) bool {
	if l.Local() || !other.Internal() {
		return true
	}
	if !other.Local() && strings.EqualFold(l.host(), other.host()) {
		return true
	}
	return near.FarthestByName(l.host()) == near.ThisMachine && (other.Local() || near.ByName(other.host()) == near.ThisMachine)
}

// host returns the host of a place without port and brackets, "" if it has none.
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
