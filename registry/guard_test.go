package registry_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

func TestRedirectsOfStrangers(t *testing.T) {
	t.Parallel()
	trap := regtest.Serve(t)
	for to, good := range map[string]bool{
		"http://cdn.example.com":              true,
		trap.URL:                              false,
		"http://localhost:1":                  false,
		"http://169.254.169.254":              false,
		"http://10.0.0.1":                     false,
		"http://[::1]:1":                      false,
		"http://localhost.:1":                 false,
		"http://a.localhost:1":                false,
		"http://100.100.100.200":              false,
		"http://[fe80::1%25eth0]":             false,
		"http://0x7f.1":                       false,
		"http://[::ffff:127.0.0.1]:1":         false,
		"http://:1":                           false,
		"http://ｌocalhost:1":                  false, // clients make it localhost
		"http://someone@cdn.example.com":      false,
		"ftp://cdn.example.com":               false,
		"http://registry.example.com:8080":    true,  // another port is another host
		"http://[64:ff9b::a9fe:a9fe]":         false, // 169.254.169.254, by NAT64
		"http://[64:ff9b::10.0.0.1]":          false,
		"http://[64:ff9b:1::169.254.169.254]": false,
		"http://[2002:7f00:1::]":              false, // 127.0.0.1, by 6to4
		"http://[2002:a9fe:a9fe::1]":          false,
		"http://[2001:0:808:808::80ff:fffe]":  false, // 127.0.0.1, by Teredo
		"http://[::169.254.169.254]":          false,
		"http://[::ffff:169.254.169.254]":     false,
		"http://[::ffff:0:127.0.0.1]":         false,
		"http://[64:ff9b::8.8.8.8]":           true, // how a network without IPv4 reaches the others
		"http://metadata.google.internal":     false,
		"http://METADATA.google.internal.":    false,
		"http://metadata":                     false,
		"http://instance-data":                false,
		"http://instance-data.ec2.internal":   false,
		"http://registry":                     false, // a neighbour, whoever it is
		"http://2852039166":                   false, // 169.254.169.254
		"http://0xa9fea9fe":                   false,
		"http://0251.0376.0251.0376":          false,
		"http://169.16689662":                 false,
		"http://[fd00:ec2::254]":              false,
		"http://169.254.170.2":                false,
		"http://168.63.129.16":                false,
		"http://192.0.0.192":                  false,
		"http://[fd20:ce::254]":               false,
	} {
		var login []string
		watch := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Host != "registry.example.com" {
					login = append(login, r.Header.Get("Authorization"))
					next.ServeHTTP(w, r)
					return
				}
				regtest.Login()(regtest.On("/blobs/", regtest.Redirect(func() string { return to }))(next)).ServeHTTP(w, r)
			})
		}
		f := regtest.Serve(t, watch)
		fillCatalog(t, f)
		c := newClient(t, registry.Options{
			PlainHTTP: true, Proxy: throughProxy(t, f), DockerConfigDir: regtest.DockerConfig(t, "registry.example.com"),
		})
		got, err := readCatalog(t.Context(), t, c, "oci://registry.example.com/a:v1")
		if good != (err == nil && got == catalogYAML) {
			t.Errorf("to %s: %q, %v", to, got, err)
		}
		if strings.Join(login, "") != "" {
			t.Errorf("to %s went the login", to)
		}
	}
	if n := len(trap.Requests()); n != 0 {
		t.Errorf("the trap was asked %d times", n)
	}
}

// TestRedirectsComeNoNearer checks that a redirect is never nearer to this machine than the named
// place, and never leads to a metadata service of a cloud.
func TestRedirectsComeNoNearer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		good     bool
	}{
		{"10.0.0.1", "http://192.168.1.1", true},
		{"10.0.0.1", "http://cdn.example.com", true},
		{"10.0.0.1", "http://127.0.0.1", false},
		{"10.0.0.1", "http://[64:ff9b::127.0.0.1]", false},
		{"10.0.0.1", "http://169.254.169.254", false},
		{"10.0.0.1", "http://100.100.100.200", false},
		{"127.0.0.1:1", "http://10.0.0.1", true},
		{"127.0.0.1:1", "http://169.254.170.2", false},
		{"127.0.0.1:1", "http://[fd00:ec2::254]", false},
		{"127.0.0.1:1", "http://metadata.google.internal", false},
	} {
		watch := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Host != c.from {
					next.ServeHTTP(w, r)
					return
				}
				regtest.On("/blobs/", regtest.Redirect(func() string { return c.to }))(next).ServeHTTP(w, r)
			})
		}
		f := regtest.Serve(t, watch)
		fillCatalog(t, f)
		client := newClient(t, registry.Options{PlainHTTP: true, Proxy: throughProxy(t, f)})
		got, err := readCatalog(t.Context(), t, client, "oci://"+c.from+"/a:v1")
		if c.good != (err == nil && got == catalogYAML) || !c.good && !strings.Contains(err.Error(), "refused to follow a redirect or token realm") {
			t.Errorf("from %s to %s: %q, %v", c.from, c.to, got, err)
		}
	}
}

// names is a name server in this process with these names.
func names(known map[string][]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			for {
				var size [2]byte
				if _, err := io.ReadFull(theirs, size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(theirs, question); err != nil {
					return
				}
				answer := lookUp(known, question)
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
}

// lookUp responds to one DNS query (RFC 1035).
func lookUp(known map[string][]string, q []byte) []byte {
	name, at := "", 12
	for q[at] != 0 {
		name += string(q[at+1:at+1+int(q[at])]) + "."
		at += 1 + int(q[at])
	}
	end := at + 5
	const address4, address16 = 1, 28
	kind := binary.BigEndian.Uint16(q[at+1:])
	list, found := known[strings.TrimSuffix(name, ".")]
	code := byte(0)
	if !found {
		code = 3
	}
	var answers []byte
	count := byte(0)
	for _, s := range list {
		ip := netip.MustParseAddr(s)
		if (kind == address4) != ip.Is4() || kind != address4 && kind != address16 {
			continue
		}
		count++
		answers = append(answers, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 60, 0, byte(ip.BitLen()/8))
		answers = append(answers, ip.AsSlice()...)
	}
	out := append([]byte{q[0], q[1], 0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0}, q[12:end]...)
	return append(out, answers...)
}

// TestNamesOfStrangers checks that the address of a redirect's host decides, not its name.
func TestNamesOfStrangers(t *testing.T) {
	t.Parallel()
	trap := regtest.Serve(t)
	fillCatalog(t, trap)
	_, port, _ := net.SplitHostPort(trap.Host)
	for stands, addrs := range map[string][]string{
		"for this machine":                {"127.0.0.1"},
		"for it, mapped":                  {"::ffff:127.0.0.1"},
		"for it, by NAT64":                {"64:ff9b::7f00:1"},
		"for it, by 6to4":                 {"2002:7f00:1::"},
		"for it, and nobody":              {"127.0.0.1", "::"},
		"for a neighbour":                 {"10.255.255.1"},
		"for a cloud's secrets":           {"169.254.169.254"},
		"for a cloud's secrets, by NAT64": {"64:ff9b::a9fe:a9fe"},
		"for those of IPv6":               {"fd00:ec2::254"},
		"for those of another cloud":      {"100.100.100.200"},
	} {
		t.Run(stands, func(t *testing.T) {
			t.Parallel()
			f := regtest.Serve(t, regtest.On("/blobs/", regtest.Redirect(func() string { return "http://cdn.example.com:" + port })))
			fillCatalog(t, f)
			first, err := url.Parse(f.URL)
			if err != nil {
				t.Fatal(err)
			}
			c := newClient(t, registry.Options{
				PlainHTTP: true, Resolver: names(map[string][]string{"cdn.example.com": addrs}),
				Proxy: func(r *http.Request) (*url.URL, error) { // the registry is out there, the other place is asked directly
					if r.URL.Host == "registry.example.com" {
						return first, nil
					}
					return nil, nil
				},
			})
			_, err = readCatalog(t.Context(), t, c, "oci://registry.example.com/a:v1")
			if !isA[*registry.UnreachableError](err) || !strings.Contains(err.Error(), "refused to connect") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(trap.Requests()); n != 0 {
			t.Errorf("the trap was asked %d times", n)
		}
	})
}

// TestNamesThatAreNamed checks that a named place is requested at any address except link-local
// ones.
func TestNamesThatAreNamed(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	fillCatalog(t, f)
	_, port, _ := net.SplitHostPort(f.Host)
	blobs := regtest.Serve(t, regtest.On("/blobs/", regtest.Redirect(func() string { return "http://cdn.example.com:" + port })))
	fillCatalog(t, blobs)
	_, other, _ := net.SplitHostPort(blobs.Host)
	c := newClient(t, registry.Options{PlainHTTP: true, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, Resolver: names(map[string][]string{
		"registry.example.com": {"127.0.0.1"}, "cdn.example.com": {"127.0.0.1"},
		"several.example.com": {"169.254.169.254", "127.0.0.1"}, "secrets.example.com": {"169.254.169.254", "64:ff9b::a9fe:a9fe"},
	})})
	for at, good := range map[string]bool{
		"registry.example.com:" + port:  true,
		"registry.example.com:" + other: true, // and from there to its like
		"several.example.com:" + port:   true,
		"secrets.example.com:" + port:   false,
	} {
		got, err := readCatalog(t.Context(), t, c, "oci://"+at+"/a:v1")
		if good != (err == nil && got == catalogYAML) || !good && !strings.Contains(err.Error(), "refused to connect") {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}

// TestRealmsOfStrangers checks that credentials are sent to the token realm that a registry names,
// as docker does, but not nearer to this machine than the registry, and not after a redirect.
func TestRealmsOfStrangers(t *testing.T) {
	t.Parallel()
	for realm, good := range map[string]bool{
		"http://192.0.2.7/token":               true,
		"http://registry.example.com:81/token": true,
		"http://192.0.2.7/redirected":          false,
		"http://someone@192.0.2.7/token":       false,
		"http://169.254.169.254/token":         false,
		"http://[64:ff9b::a9fe:a9fe]/token":    false,
		"http://[64:ff9b:1::10.0.0.1]/token":   false,
		"http://[2002:7f00:1::]/token":         false,
		"http://[2001:0:7f00:1::]/token":       false,
		"http://[::127.0.0.1]/token":           false,
		"http://[::ffff:0:169.254.169.254]/":   false,
		"http://168.63.129.16/token":           false,
		"http://192.0.0.192/token":             false,
		"http://[fd00:ec2::254]/token":         false,
	} {
		t.Run(realm, func(t *testing.T) {
			t.Parallel()
			at, err := url.Parse(realm)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			watch := func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.URL.Host != "registry.example.com":
						got[r.URL.Host] = r.Header.Get("Authorization")
						if r.URL.Path == "/redirected" {
							http.Redirect(w, r, "http://[64:ff9b::a9fe:a9fe]/token", http.StatusTemporaryRedirect)
							return
						}
						_, _ = fmt.Fprint(w, `{"token": "t"}`)
					case r.Header.Get("Authorization") != "Bearer t":
						w.Header().Set("Www-Authenticate", `Bearer realm="`+realm+`",service="s"`)
						w.WriteHeader(http.StatusUnauthorized)
					default:
						next.ServeHTTP(w, r)
					}
				})
			}
			f := regtest.Serve(t, watch)
			fillCatalog(t, f)
			c := newClient(t, registry.Options{
				PlainHTTP: true, Proxy: throughProxy(t, f), DockerConfigDir: regtest.DockerConfig(t, "registry.example.com"),
			})
			_, err = readCatalog(t.Context(), t, c, "oci://registry.example.com/a:v1")
			if good != (err == nil) || !good && !isA[*registry.UnreachableError](err) {
				t.Errorf("got %v", err)
			}
			delete(got, "192.0.2.7")
			if good {
				delete(got, at.Host)
			}
			if len(got) != 0 {
				t.Errorf("it went to %v", got)
			}
		})
	}
}
