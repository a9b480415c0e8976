package near

import (
	"net"
	"net/netip"
	"strings"
	"unicode"
)

// Address parses an IP address without its zone, and reports whether host is one.
func Address(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(Bare(host))
	return addr.Unmap().WithZone(""), err == nil
}

// Bare returns a host in lower case and without a trailing dot.
func Bare(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// ASCII reports whether a host consists of ASCII characters. HTTP clients map other characters, and
// a name may then become an address.
func ASCII(host string) bool {
	return strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// Loopback reports whether a host name is localhost or a loopback address. No name server is
// queried.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// HostOnly returns a host without its port.
func HostOnly(hostport string) string {
	if i := strings.LastIndexByte(hostport, ':'); i > strings.LastIndexByte(hostport, ']') {
		return hostport[:i]
	}
	return hostport
}

// IsLabel reports whether s is a valid label of a host name, in lower case.
func IsLabel(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
