package near

import (
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// Distance tells how near a host is to this machine. A larger value is nearer: a redirect must not
// lead to a nearer host than the one that it came from.
type Distance int32

// The distances, the farthest first.
const (
	Public      Distance = iota // reachable for everybody
	Private                     // private networks that this machine may belong to
	ThisMachine                 // this machine itself
	Forbidden                   // link-local addresses and metadata services of clouds: never requested by redirect
)

// ByName returns how near a host is by its name or address alone. It serves checks that refuse, so
// it returns the nearer distance where it is uncertain. No name server is queried.
func ByName(host string) Distance {
	name := Bare(host)
	switch {
	case name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return ThisMachine // without a host, systems connect to themselves
	case metadataName(name):
		return Forbidden
	}
	if addr, ok := Address(host); ok {
		return ByAddress(addr)
	}
	switch {
	case Ambiguous(name):
		return Forbidden // resolvers read it differently
	case !strings.Contains(name, "."), strings.HasSuffix(name, ".internal"), strings.HasSuffix(name, ".local"):
		return Private
	}
	return Public
}

// FarthestByName returns how near a host is that has responded, by its name or address alone. It
// serves checks that allow, so it returns the farther distance where it is uncertain: a host behind
// a translator may be far.
func FarthestByName(host string) Distance {
	if addr, ok := Address(host); ok {
		return ByOneAddress(addr)
	}
	if Loopback(Bare(host)) {
		return ThisMachine
	}
	return Public
}

// ambiguous matches names that some resolvers read as an IPv4 address: 127.1, 2130706433,
// 0x7f.0.0.1. No domain ends in a number.
var ambiguous = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant that is compiled when needed
	return regexp.MustCompile(`^(.*\.)?([0-9]+|0x[0-9a-f]*)$`)
})

// Ambiguous reports whether some resolvers read a bare name as an address and others do not.
func Ambiguous(name string) bool { return ambiguous().MatchString(name) }

// metadataName reports whether a name is a metadata service, which also issues tokens: of Google,
// Amazon, Azure, Equinix, Tencent.
func metadataName(name string) bool {
	switch name {
	case "metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.platformequinix.com",
		"metadata.packet.net", "metadata.tencentyun.com", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return strings.HasSuffix(name, ".metadata.google.internal")
}

// ByAddress returns how near an address is, including every IPv4 address that it may be translated
// to.
func ByAddress(addr netip.Addr) Distance {
	addr = addr.Unmap().WithZone("")
	out := ByOneAddress(addr)
	if !addr.Is6() {
		return out
	}
	for _, v4 := range Embedded(addr.As16()) {
		out = max(out, ByOneAddress(v4))
	}
	return out
}

// ByOneAddress returns how near an address is, without translations.
func ByOneAddress(addr netip.Addr) Distance {
	switch {
	case addr.IsLinkLocalUnicast(), addr.IsMulticast(), inAny(addr, metadataRanges()):
		return Forbidden
	case addr.IsLoopback(), addr.IsUnspecified(), inAny(addr, []string{"0.0.0.0/8"}):
		return ThisMachine
	case addr.IsPrivate(), inAny(addr, localRanges()):
		return Private
	}
	return Public
}

// metadataRanges are the metadata services of clouds that are not at link-local addresses.
func metadataRanges() []string {
	return []string{
		"100.100.100.200/32", // Alibaba
		"168.63.129.16/32",   // Azure
		"192.0.0.192/32",     // Oracle
		"fd00:ec2::/32",      // Amazon
		"fd20:ce::254/128",   // Google
		"fd00:42::42/128",    // Scaleway
		"fd00:c1::a9fe:a9fe/128",
	}
}

// localRanges are the ranges, beside the private ones, that lead only to networks of this machine,
// from the IANA registries of special-purpose addresses.
func localRanges() []string {
	return []string{
		"100.64.0.0/10",  // between a provider and its customers, RFC 6598
		"192.0.0.0/24",   // RFC 6890
		"198.18.0.0/15",  // benchmarks, RFC 2544
		"240.0.0.0/4",    // reserved
		"fec0::/10",      // site-local, deprecated
		"64:ff9b:1::/48", // local-use translation, RFC 8215
		"5f00::/16",      // segment routing, RFC 9602
	}
}

func inAny(addr netip.Addr, ranges []string) bool {
	for _, r := range ranges {
		if p, err := netip.ParsePrefix(r); err == nil && p.Contains(addr) {
			return true
		}
	}
	return false
}

// Embedded returns the IPv4 addresses in an IPv6 address of a kind that is translated or unpacked
// on the way.
func Embedded(a [16]byte) []netip.Addr {
	v4 := func(b ...byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }
	addr, last := netip.AddrFrom16(a), v4(a[12:]...)
	var out []netip.Addr
	switch {
	case inAny(addr, []string{"::/96", "::ffff:0:0:0/96", "64:ff9b::/96"}): // compatible, translated (SIIT), NAT64
		out = append(out, last)
	case inAny(addr, []string{"2002::/16"}): // 6to4
		out = append(out, v4(a[2:6]...))
	case inAny(addr, []string{"2001::/32"}): // Teredo: its server, and its client behind a mask
		out = append(out, v4(a[4:8]...), v4(^a[12], ^a[13], ^a[14], ^a[15]))
	case inAny(addr, []string{"64:ff9b:1::/48"}): // NAT64 in one of the forms of RFC 6052
		for _, form := range []netip.Addr{v4(a[6], a[7], a[9], a[10]), v4(a[7], a[9], a[10], a[11]), v4(a[9:13]...), last} {
			if form.As4()[0] != 0 { // the zeros of another form
				out = append(out, form)
			}
		}
	}
	if [3]byte(a[9:12]) == [3]byte{0, 0x5e, 0xfe} && a[8]&^2 == 0 { // ISATAP
		out = append(out, last)
	}
	return out
}
