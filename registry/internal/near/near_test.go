package near

import (
	"net/netip"
	"testing"
)

func TestNearness(t *testing.T) {
	t.Parallel()
	for want, addrs := range map[Distance][]string{
		Public: {
			"8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1",
			"2001:0:808:808::f7f7:f7f7", // Teredo: 8.8.8.8 with inverted bits
		},
		Private: {
			"10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.0.1", "192.0.0.8", "198.18.0.1", "fd12::1", "fec0::1",
			"::ffff:10.0.0.1", "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::", "255.255.255.255",
			"64:ff9b:1::8.8.8.8", "64:ff9b:1:808:8:800::", "2001:0:a00:1::f7f7:f7f7", "2001:0:808:808::f5ff:fffe",
			"2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:10.0.0.1",
		},
		ThisMachine: {
			"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1",
			"64:ff9b::127.0.0.1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:0:808:808::80ff:fffe",
			"64:ff9b:1::127.0.0.1", "64:ff9b:1:7f00:0:100::", "64:ff9b:1:7f:0:1::", "64:ff9b:1:2:7f:0:100:0", "64:ff9b::0.0.0.0",
			"2606:4700::5efe:127.0.0.1",
		},
		Forbidden: {
			"169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::169.254.169.254",
			"64:ff9b::a9fe:a9fe", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::", "2001:0:a9fe:a9fe::",
			"2001:0:808:808::5601:5601", "100.100.100.200", "::ffff:100.100.100.200", "168.63.129.16", "192.0.0.192",
			"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:c1::a9fe:a9fe",
			"fe80::1", "fe80::a9fe:a9fe%eth0", "224.0.0.1", "ff02::1",
		},
	} {
		for _, a := range addrs {
			if got := ByAddress(netip.MustParseAddr(a)); got != want {
				t.Errorf("%s is %d, want %d", a, got, want)
			}
		}
	}
}

func TestNearestBy(t *testing.T) {
	t.Parallel()
	for want, hosts := range map[Distance][]string{
		Public:      {"registry.example.com", "8.8.8.8", "1e100.example", "xn--bcher-kva.example", "metadata.example.com", "[64:ff9b::808:808]"},
		Private:     {"registry", "registry.corp.internal", "printer.local", "10.0.0.1", "kubernetes"},
		ThisMachine: {"", "localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.0.0.1."},
		Forbidden: {
			"metadata.google.internal", "Metadata.Google.Internal.", "a.metadata.google.internal", "metadata.goog", "metadata", "instance-data",
			"instance-data.ec2.internal", "169.254.169.254", "169.254.169.254.",
			"2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "025177524776", "0251.0376.0251.0376", "169.16689662", "127.1", "0x7f.1", "017700000001",
		},
	} {
		for _, h := range hosts {
			if h != "" && h[0] == '[' {
				h = h[1 : len(h)-1]
			}
			if got := ByName(h); got != want {
				t.Errorf("%q is %d, want %d", h, got, want)
			}
			if far := FarthestByName(h); far > want {
				t.Errorf("%q is %d when it is asked in order to refuse, and %d in order to allow", h, want, far)
			}
		}
	}
	if far := FarthestByName("0x7f.1"); far != Public {
		t.Errorf("what may be an address is %d", far)
	}
}
