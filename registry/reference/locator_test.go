package reference_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
)

const someHex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const someDigest = "sha256:" + someHex

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]reference.Locator{
		"oci://registry.example.com/a/b":                           {Scheme: "oci", Name: "registry.example.com/a/b"},
		"oci://registry.example.com:5000/a:v1":                     {Scheme: "oci", Name: "registry.example.com:5000/a", Tag: "v1"},
		"oci://localhost/a@" + someDigest:                          {Scheme: "oci", Name: "localhost/a", Digest: someDigest},
		"oci://[::1]:5000/a:v1@" + someDigest:                      {Scheme: "oci", Name: "[::1]:5000/a", Tag: "v1", Digest: someDigest},
		"OCI://h.example/a":                                        {Scheme: "oci", Name: "h.example/a"},
		"oci-layout://dir":                                         {Scheme: "oci-layout", Name: "dir"},
		"oci-layout://./a/b:v1":                                    {Scheme: "oci-layout", Name: "./a/b", Tag: "v1"},
		"oci-layout:///abs/with:colon/b:v1@" + someDigest:          {Scheme: "oci-layout", Name: "/abs/with:colon/b", Tag: "v1", Digest: someDigest},
		"oci-layout:///abs/with:colon/":                            {Scheme: "oci-layout", Name: "/abs/with:colon"},
		"https://example.com/catalog.yaml":                         {Scheme: "https", Name: "https://example.com/catalog.yaml"},
		"https://example.com/c?a=b@" + someDigest:                  {Scheme: "https", Name: "https://example.com/c?a=b", Digest: someDigest},
		"http://127.0.0.1:8080/c.yaml":                             {Scheme: "https", Name: "http://127.0.0.1:8080/c.yaml"},
		"http://localhost/c.yaml":                                  {Scheme: "https", Name: "http://localhost/c.yaml"},
		"catalog.yaml":                                             {Scheme: "file", Name: "catalog.yaml"},
		"./a b/c@d":                                                {Scheme: "file", Name: "./a b/c@d"},
		"./c.yaml@" + someDigest:                                   {Scheme: "file", Name: "./c.yaml", Digest: someDigest},
		"/abs/c.yaml":                                              {Scheme: "file", Name: "/abs/c.yaml"},
		"file:///abs/c%20.yaml":                                    {Scheme: "file", Name: "/abs/c%20.yaml"},
		"file://oci://x":                                           {Scheme: "file", Name: "oci://x"},
		"registry.example.com/repo:tag":                            {Scheme: "file", Name: "registry.example.com/repo:tag"},
		`C:\dir\catalog.yaml`:                                      {Scheme: "file", Name: `C:\dir\catalog.yaml`},
		"C:/dir/catalog.yaml":                                      {Scheme: "file", Name: "C:/dir/catalog.yaml"},
		"octopus.yaml":                                             {Scheme: "file", Name: "octopus.yaml"},
		"oci-layout://dir.with.dots/and@sign:v1":                   {Scheme: "oci-layout", Name: "dir.with.dots/and@sign", Tag: "v1"},
		"https://example.com:443/x/y.star@" + someDigest:           {Scheme: "https", Name: "https://example.com:443/x/y.star", Digest: someDigest},
		"oci://registry.example.com/a:" + strings.Repeat("v", 128): {Scheme: "oci", Name: "registry.example.com/a", Tag: strings.Repeat("v", 128)},
	} {
		got, err := reference.Parse(in)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", in, got, err, want)
			continue
		}
		if again, err := reference.Parse(got.String()); err != nil || again != got {
			t.Errorf("Parse(%q) = %+v, %v: no round trip", got.String(), again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, why := range map[string]string{
		"":                                  "empty",
		"oci://":                            "oci://host",
		"oci://host":                        "oci://host",
		"oci://host/Repo":                   "lower case",
		"oci://host/repo:":                  "oci://host",
		"oci://host/repo:a b":               "oci://host",
		"oci://host/repo@sha256:short":      "64 hexadecimal",
		"oci://host/repo@sha512:" + someHex: "not sha512",
		"oci://host/repo@" + strings.ToUpper(someDigest): "malformed digest",
		"oci://h,x.example/r":                            "not a name",
		"https://h>x.example/r":                          "",
		"https://a!b.example/r":                          "not a name",
		"https://h..example/r":                           "not a name",
		"oci://ghcr.io../r":                              "not a name",
		"https://.h.example/r":                           "not a name",
		"https://./r":                                    "not a name",
		"oci://127.1/r":                                  "ends in a number",
		"oci://2130706433/r":                             "ends in a number",
		"https://0x7F.1/r":                               "ends in a number",
		"https://0251.0376.0251.0376/r":                  "ends in a number",
		"https://h.example.0x7f./r":                      "ends in a number",
		"https://[2001:db8::1%25eth0]/r":                 "zone",
		"https://h%2eexample/r":                          "",
		"oci://user:secret@host/repo":                    "credentials",
		"oci:host/repo":                                  "without //",
		"oci-layout://":                                  "empty",
		"oci-layout://:v1":                               "empty",
		"oci-layout://dir:":                              "not a tag",
		"oci-layout://a:b:c":                             "one colon",
		"https://":                                       "host",
		"https://:443/x":                                 "host is empty",
		"https://ｌocalhost/x":                            "ASCII",
		"https://%EF%BD%8Cocalhost/x":                    "ASCII",
		"oci://:5000/x":                                  "host is empty",
		"oci://ｌocalhost/x":                              "",
		"https://user:secret@example.com/x":              "credentials",
		"https://example.com/x#part":                     "fragment",
		"http://example.com/x":                           "plain http",
		"https:example.com":                              "without //",
		"git::https://example.com/x":                     "git is not supported yet",
		"git@example.com:x/y":                            "git is not supported yet",
		"ssh://git@example.com/x":                        "git is not supported yet",
		"ftp://example.com/x":                            "unknown scheme",
		"docker://example.com/x":                         "unknown scheme",
		"a\nb":                                           "control characters",
		"a\xff":                                          "UTF-8",
		"file://":                                        "empty",
		"@" + someDigest:                                 "one digest",
		"x@" + someDigest + "@" + someDigest:             "one digest",
		strings.Repeat("a", 5000):                        "longer than",
		"./f@sha256:" + strings.Repeat("g", 64):          "64 hexadecimal",
	} {
		_, err := reference.Parse(in)
		var re *reference.Error
		if !errors.As(err, &re) {
			t.Errorf("Parse(%q): %v, want a *Error", in, err)
			continue
		}
		if !strings.Contains(err.Error(), why) {
			t.Errorf("Parse(%q): %q does not say %q", in, err, why)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): %q shows the password", in, err)
		}
	}
}

func TestParseImage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"alpine":                             "oci://docker.io/library/alpine",
		"alpine:3":                           "oci://docker.io/library/alpine:3",
		"docker.io/alpine":                   "oci://docker.io/library/alpine",
		"index.docker.io/a/b:1":              "oci://docker.io/a/b:1",
		"team/tool@" + someDigest:            "oci://docker.io/team/tool@" + someDigest,
		"registry.example.com/a/b:v1":        "oci://registry.example.com/a/b:v1",
		"localhost/a":                        "oci://localhost/a",
		"host:5000/a:v1@" + someDigest:       "oci://host:5000/a:v1@" + someDigest,
		"registry.example.com:5000/deep/a/b": "oci://registry.example.com:5000/deep/a/b",
	} {
		got, err := reference.ParseImage(in)
		if err != nil || got.String() != want {
			t.Errorf("ParseImage(%q) = %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "Alpine", "a/B", "a:b:c", "a@b", "oci://a/b", "-x", "a/../b", "a b"} {
		if got, err := reference.ParseImage(in); !isA[*reference.Error](err) {
			t.Errorf("ParseImage(%q) = %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"oci://a.example/b:v1", "OCI://a.example/b"} {
		if _, err := reference.ParseImage(in); err == nil || !strings.Contains(err.Error(), "written without oci://") {
			t.Errorf("ParseImage(%q): %v", in, err)
		}
	}
}

func TestAtAndDir(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "base")
	for in, want := range map[string]struct{ at, dir string }{
		"./catalog.yaml":         {filepath.Join(base, "catalog.yaml"), base},
		"../x/c.yaml":            {filepath.Join(base, "..", "x", "c.yaml"), filepath.Join(base, "..", "x")},
		"oci-layout://./l:v1":    {"oci-layout://" + filepath.Join(base, "l") + ":v1", base},
		"oci-layout://l/":        {"oci-layout://" + filepath.Join(base, "l"), base},
		"oci://h.example/a":      {"oci://h.example/a", ""},
		"https://h.example/a":    {"https://h.example/a", ""},
		"c.yaml@" + someDigest:   {filepath.Join(base, "c.yaml") + "@" + someDigest, base},
		"oci-layout://a:b/:v1":   {"oci-layout://" + filepath.Join(base, "a:b") + "/:v1", base},
		"oci-layout://d/a:b/c:x": {"oci-layout://" + filepath.Join(base, "d", "a:b", "c") + ":x", filepath.Join(base, "d", "a:b")},
	} {
		if runtime.GOOS == "windows" && strings.Contains(in, "a:b") {
			continue
		}
		l := mustParse(t, in).At(base)
		if l.String() != want.at || l.Dir() != want.dir {
			t.Errorf("%q: At %q, Dir %q, want %q, %q", in, l, l.Dir(), want.at, want.dir)
		}
		if again := mustParse(t, l.String()); again.At("/elsewhere").String() != l.String() {
			t.Errorf("%q: At does not stand still: %s", in, again)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"oci://h.example/a:v1", "oci://H.example/a:v1@" + someDigest, true},
		{"oci://h.example/a", "oci://h.example/a:latest", true},
		{"oci://h.example/a@" + someDigest, "oci://h.example/a", true},
		{"oci://h.example/a@" + someDigest, "oci://h.example/a@" + strings.Replace(someDigest, "0", "1", 1), true},
		{"oci://h.example/a@" + someDigest, "oci://h.example/a:latest", false},
		{"oci://h.example/a:v1", "oci://h.example/a:v2", false},
		{"oci://h.example/a", "oci://h.example/b", false},
		{"oci://h.example/a", "oci-layout://h.example/a", false},
		{"./x/../c.yaml", "c.yaml", true},
		{"https://H.example/c", "https://h.example:443/c", true},
		{"https://h.example/c", "https://h.example/C", false},
		{"http://localhost/c", "https://localhost/c", false},
		{"oci-layout://d/", "oci-layout://d", true},
		{"oci-layout://d:a", "oci-layout://d", false},
	} {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		if a.Same(b) != c.want || b.Same(a) != c.want {
			t.Errorf("%s and %s: same is %v, want %v", a, b, !c.want, c.want)
		}
	}
}

func TestNormal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]reference.Locator{
		"oci://H.Example:5000/a":            {Scheme: "oci", Name: "h.example:5000/a", Tag: "latest"},
		"oci://h.example/a:v1":              {Scheme: "oci", Name: "h.example/a", Tag: "v1"},
		"oci://h.example/a@" + someDigest:   {Scheme: "oci", Name: "h.example/a", Digest: someDigest},
		"oci-layout://./x/../d/":            {Scheme: "oci-layout", Name: "d"},
		"oci-layout:///d//l:v1":             {Scheme: "oci-layout", Name: "/d/l", Tag: "v1"},
		"./a/./c.yaml@" + someDigest:        {Scheme: "file", Name: "a/c.yaml", Digest: someDigest},
		"https://H.example:443/C?a=B":       {Scheme: "https", Name: "https://h.example/C?a=B"},
		"https://h.example":                 {Scheme: "https", Name: "https://h.example/"},
		"https://h.example:8443/":           {Scheme: "https", Name: "https://h.example:8443/"},
		"http://LocalHost:80/c":             {Scheme: "https", Name: "http://localhost/c"},
		"http://localhost:443/c":            {Scheme: "https", Name: "http://localhost:443/c"},
		"https://h.example:/c":              {Scheme: "https", Name: "https://h.example/c"},
		"HTTPS://h.example/c@" + someDigest: {Scheme: "https", Name: "https://h.example/c", Digest: someDigest},
	} {
		want.Name = localPath(want)
		if got := mustParse(t, in).Normal(); got != want || got.Normal() != got {
			t.Errorf("%q is %+v, want %+v", in, got, want)
		}
	}
}

// localPath returns a path with the separators of this system.
func localPath(l reference.Locator) string {
	if l.Local() {
		return filepath.FromSlash(l.Name)
	}
	return l.Name
}

// TestMayName also checks that an unusual spelling of an address does not make a place internal.
func TestMayName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, named string
		want      bool
	}{
		{"./catalog.yaml", "oci://127.0.0.1/a", true},
		{"./catalog.yaml", "https://169.254.1.1/a", true},
		{"oci-layout://store", "./a", true},
		{"oci://registry.example.com/c", "oci://other.example.com/a", true},
		{"oci://registry.example.com/c", "oci://10.0.0.1/a", true}, // companies keep their registries there
		{"oci://registry.example.com/c", "oci://127.0.0.1/a", false},
		{"oci://registry.example.com/c", "./a", false},
		{"oci://registry.example.com/c", "https://metadata.google.internal/a", false},
		{"oci://registry.example.com/c", "https://[64:ff9b::127.0.0.1]/a", false},
		{"oci://127.0.0.1:5000/c", "oci://localhost:5001/a", true},
		{"oci://localhost/c", "./a", true}, // paths are refused elsewhere
		{"oci://127.0.0.1:5000/c", "https://169.254.169.254/a", false},
		{"oci://10.0.0.1/c", "oci://127.0.0.1/a", false},
		{"oci://[2002:7f00:1::]/c", "oci://localhost/a", false},
		{"oci://169.254.1.1:5000/c", "oci://169.254.1.1:5000/a", true},
		{"oci://169.254.1.1:5000/c", "oci://127.0.0.1/a", false},
		{"oci://[::ffff:127.0.0.1]:5000/c", "oci://127.0.0.1:5000/a", true},
	} {
		if mustParse(t, c.at).MayName(mustParse(t, c.named)) != c.want {
			t.Errorf("%s names %s: want %v", c.at, c.named, c.want)
		}
	}
	// Parse refuses these hosts, which some resolvers read as 8.8.8.8.
	for _, host := range []string{"0x08.0x08.0x08.0x08", "134744072"} {
		at := reference.Locator{Scheme: reference.SchemeOCI, Name: host + "/c"}
		if at.MayName(mustParse(t, "oci://127.0.0.1/a")) || at.MayName(mustParse(t, "https://169.254.169.254/a")) || !at.MayName(at) {
			t.Errorf("%s names what it may not, or not itself", at)
		}
	}
}

func TestInternal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"oci://localhost/a":                    true,
		"oci://LOCALHOST.:5000/a:v1":           true,
		"oci://registry.localhost/a":           true,
		"oci://127.0.0.1:5000/a":               true,
		"oci://127.255.0.9/a":                  true,
		"oci://127.0.0.1./a":                   true,
		"oci://[::1]:5000/a@" + someDigest:     true,
		"oci://[::ffff:127.0.0.1]/a":           true,
		"oci://169.254.169.254/a":              true,
		"oci://[fe80::1]/a":                    true,
		"oci://0.0.0.0:5000/a":                 true,
		"oci://[::]/a":                         true,
		"https://127.0.0.1:8443/a":             true,
		"https://localhost/a":                  true,
		"http://localhost/a":                   true,
		"https://localhost./a":                 true,
		"https://[::1]/a":                      true,
		"https://169.254.169.254/latest?a=b":   true,
		"https://[64:ff9b::7f00:1]/a":          true,
		"https://[2002:7f00:1::]/a":            true,
		"https://[::127.0.0.1]/a":              true,
		"https://[64:ff9b::a9fe:a9fe]/a":       true,
		"https://metadata.google.internal/a":   true,
		"https://[fd00:ec2::254]/a":            true,
		"https://100.100.100.200/a":            true,
		"https://168.63.129.16/a":              true,
		"./a":                                  true,
		"/a/b":                                 true,
		"oci-layout://d:v1":                    true,
		"oci://registry.example.com/a":         false,
		"oci://localhost.example.com/a":        false,
		"oci://notlocalhost/a":                 false,
		"oci://10.0.0.1/a":                     false, // private networks hold the registries of companies
		"oci://192.168.0.1:5000/a":             false,
		"oci://100.64.0.1/a":                   false,
		"oci://8.8.8.8/a":                      false,
		"oci://[64:ff9b::808:808]/a":           false, // how a network without IPv4 reaches the others
		"oci://registry:5000/a":                false,
		"oci://[2001:db8::1]/a":                false,
		"https://127.0.0.1.example.com/a":      false,
		"https://example.com/http://localhost": false,
		"https://example.com:8443/127.0.0.1":   false,
		"https://1e100.example/a":              false,
		"https://xn--bcher-kva.example/a":      false,
	} {
		if l := mustParse(t, in); l.Internal() != want {
			t.Errorf("%s: internal is %v", in, !want)
		}
	}
	for l, want := range map[reference.Locator]bool{
		{Scheme: "memory", Name: "localhost/x"}: true, {Scheme: "memory", Name: "h.example/x"}: false,
		{Scheme: "https", Name: "https://%zz"}: true, {Scheme: "oci"}: true, {}: true,
		// Parse refuses these.
		{Scheme: "oci", Name: "127.1/a"}: true, {Scheme: "oci", Name: "2130706433/a"}: true,
		{Scheme: "https", Name: "https://[fe80::1%25eth0]/a"}: true, {Scheme: "https", Name: "https://0x7F.1/a"}: true,
		{Scheme: "https", Name: "https://0251.0376.0251.0376/a"}: true, {Scheme: "https", Name: "https://2852039166/a"}: true,
	} {
		if l.Internal() != want {
			t.Errorf("%+v: internal is %v", l, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"oci://h/a:v1@" + someDigest, "oci-layout://a:b/c:v", "oci-layout://a:b/", "https://h/x?y@z",
		"file://git::x", "./a@" + someDigest, "C:\\x", "http://[::1]/a", "oci:a", "@sha0:/", "file://file://a", "file://./a:b",
		strings.Repeat("a", 4093), "oci-layout://" + strings.Repeat("a", 4080),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := reference.Parse(s)
		if err != nil {
			if !isA[*reference.Error](err) {
				t.Fatalf("Parse(%q): %v", s, err)
			}
			return
		}
		again, err := reference.Parse(l.String())
		if err != nil || again != l {
			t.Fatalf("Parse(%q) = %+v, written %q, read %+v, %v", s, l, l.String(), again, err)
		}
		if normal := l.Normal(); !l.Same(again) || normal.Normal() != normal || !l.Same(normal) {
			t.Fatalf("%q is not the same as itself, or as %+v", s, normal)
		}
		if _, public := l.Internal(), strings.ContainsAny(s, "?"); !public && l.Display() != l.String() {
			t.Fatalf("%q is shown as %q", s, l.Display())
		}
		for i, other := range l.Spellings() {
			if other.Scheme != l.Scheme || i == 0 && (other.Name != l.Name || other.Digest != l.Digest) {
				t.Fatalf("%q has the spelling %+v", s, other)
			}
		}
		if at := l.At("/base"); at.Local() && len(at.String()) <= 4096 { // a longer one no system opens
			if again, err := reference.Parse(at.String()); err != nil || again != at {
				t.Fatalf("%q at /base is %q, read %+v, %v", s, at.String(), again, err)
			}
		}
	})
}

func FuzzParseImage(f *testing.F) {
	for _, s := range []string{"alpine", "a/b:c", "h:1/a@" + someDigest, "docker.io/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := reference.ParseImage(s)
		if err != nil {
			return
		}
		if again, err := reference.Parse(l.String()); err != nil || again != l {
			t.Fatalf("ParseImage(%q) = %+v, read %+v, %v", s, l, again, err)
		}
	})
}

func mustParse(t testing.TB, s string) reference.Locator {
	t.Helper()
	l, err := reference.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// TestAtOpensWhatIsCompared checks that the opened path is the cleaned one that is compared:
// link/.. is another directory for the operating system.
func TestAtOpensWhatIsCompared(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	for in, want := range map[string]string{
		"/a/link/../b":         "/a/b",
		"file:///a/link/../b":  "/a/b",
		"oci-layout:///a/x/..": "/a",
		"link/../b":            "/base/b",
		"/a//b/./c":            "/a/b/c",
	} {
		if got := mustParse(t, in).At("/base").Name; got != want {
			t.Errorf("%s is opened at %s, want %s", in, got, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://h.example/c?sig=hush":                 "https://h.example/c?…",
		"https://h.example/c?sig=hush@" + someDigest:   "https://h.example/c?…@" + someDigest,
		"https://h.example/c":                          "https://h.example/c",
		"https://h.example?sig=hush":                   "https://h.example?…",
		"./a?b=c":                                      "./a?b=c",
		"oci-layout://a?b:v1":                          "oci-layout://a?b:v1",
		"oci://h.example:5000/a:v1@" + someDigest:      "oci://h.example:5000/a:v1@" + someDigest,
		"http://127.0.0.1:1/c?sig=hush?more=of-hush&x": "http://127.0.0.1:1/c?…",
	} {
		l := mustParse(t, in)
		if l.Display() != want || l.String() != in {
			t.Errorf("%q: shown as %q, want %q; written as %q", in, l.Display(), want, l)
		}
	}
	further := reference.Locator{Scheme: "memory", Name: "x?sig=hush", Tag: "v1"}
	if got := further.Display(); got != "memory://x?…:v1" {
		t.Errorf("a further source's is shown as %q", got)
	}
}
