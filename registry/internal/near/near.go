package near

import (
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// Distance says how close to this machine a host is. The order counts: an answer leads no nearer
// than to where it came from.
type Distance int32

// The distances, the farthest first.
const (
	Everywhere Distance = iota // where everybody can go
	Neighbours                 // private networks that this machine may be in
	Machine                    // this machine itself
	Never                      // link-local addresses and what tells a cloud's secrets: nobody is led there
)

// ByName tells how near a host is by its name or address alone. It is asked in order to
// refuse, and errs on the near side. No name server is asked.
func ByName(host string) Distance {
	name := Bare(host)
	switch {
	case name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return Machine // systems dial themselves where there is no host
	case metadataName(name):
		return Never
	}
	if addr, ok := Address(host); ok {
		return ByAddress(addr)
	}
	switch {
	case Odd(name):
		return Never // it would have to be read as some resolver reads it
	case !strings.Contains(name, "."), strings.HasSuffix(name, ".internal"), strings.HasSuffix(name, ".local"):
		return Neighbours
	}
	return Everywhere
}

// Farthest is how near a host is that has answered, by its name or address alone: it is asked
// in order to allow, and errs on the far side. Whoever is behind a translator may be far.
func Farthest(host string) Distance {
	if addr, ok := Address(host); ok {
		return Plainly(addr)
	}
	if Loopback(Bare(host)) {
		return Machine
	}
	return Everywhere
}

// odd finds what some resolvers take for an IPv4 address: 127.1, 2130706433,
// 0x7f.0.0.1. No domain ends in a number.
var odd = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant that is compiled when needed
	return regexp.MustCompile(`^(.*\.)?([0-9]+|0x[0-9a-f]*)$`)
})

// Odd reports whether some resolvers take a bare name for an address, and others do not.
func Odd(name string) bool { return odd().MatchString(name) }

// metadataName finds the names under which clouds tell machines about themselves, their
// tokens too: of Google, Amazon, Azure, Equinix, Tencent.
func metadataName(name string) bool {
	switch name {
	case "metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.platformequinix.com",
		"metadata.packet.net", "metadata.tencentyun.com", "instance-data", "instance-data.ec2.internal":
		return true
	}
	return strings.HasSuffix(name, ".metadata.google.internal")
}

// ByAddress is how near an address is, and every IPv4 address that packets to it may end up at.
func ByAddress(addr netip.Addr) Distance {
	addr = addr.Unmap().WithZone("")
	out := Plainly(addr)
	if !addr.Is6() {
		return out
	}
	for _, v4 := range Embedded(addr.As16()) {
		out = max(out, Plainly(v4))
	}
	return out
}

// Plainly is how near an address is, by itself.
func Plainly(addr netip.Addr) Distance {
	switch {
	case addr.IsLinkLocalUnicast(), addr.IsMulticast(), inAny(addr, metadataRanges()):
		return Never
	case addr.IsLoopback(), addr.IsUnspecified(), inAny(addr, []string{"0.0.0.0/8"}):
		return Machine
	case addr.IsPrivate(), inAny(addr, localRanges()):
		return Neighbours
	}
	return Everywhere
}

// metadataRanges are the services for machines of a cloud that are not at link-local addresses.
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

// localRanges are, beside the private ones, those that lead nowhere else than to some network
// that this machine is in: of the IANA registries of special-purpose addresses.
func localRanges() []string {
	return []string{
		"100.64.0.0/10",  // between a provider and its customers, RFC 6598
		"192.0.0.0/24",   // RFC 6890
		"198.18.0.0/15",  // benchmarks, RFC 2544
		"240.0.0.0/4",    // reserved
		"fec0::/10",      // site-local, as they once were
		"64:ff9b:1::/48", // a translator of this network, RFC 8215
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

// Embedded are the IPv4 addresses in an IPv6 address of a kind that something on the way
// translates or unpacks.
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
