package near

import (
	"net"
	"net/netip"
	"strings"
	"unicode"
)

// Address reads an IP address, of whatever zone.
func Address(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(Bare(host))
	return addr.Unmap().WithZone(""), err == nil
}

// Bare is a host without what does not change where it leads: case, and the dot
// behind a full name.
func Bare(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// ASCII reports whether a host is written as it is looked up. HTTP clients map other
// letters, and what looks like a name may then be an address.
func ASCII(host string) bool {
	return strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// Loopback reports whether a host name is this machine, without asking a name server.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// HostOnly is a host without its port.
func HostOnly(hostport string) string {
	if i := strings.LastIndexByte(hostport, ':'); i > strings.LastIndexByte(hostport, ']') {
		return hostport[:i]
	}
	return hostport
}

// IsLabel reports whether s can be part of a name that is looked up.
func IsLabel(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
