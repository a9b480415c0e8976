package registry_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// FuzzLayoutIndex reads a layout whose index.json is anything.
func FuzzLayoutIndex(f *testing.F) {
	dir, a := pushedLayout(f)
	good, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(strings.Replace(string(good), a.Root.Digest.String(), "sha256:../../x", 1)))
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{},null]}`))
	f.Add([]byte(`[]`))
	c := newClient(f, registry.Options{})
	l := mustParse(f, "oci-layout://"+dir+":v1")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, "index.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, c, l)
	})
}

// memory is a place that holds one manifest and no blobs.
type memory struct {
	root ocispec.Descriptor
	data []byte
}

func (m *memory) Scheme() string { return "memory" }

func (m *memory) Open(context.Context, registry.Locator) (registry.Target, error) { return m, nil }

func (m *memory) Resolve(context.Context, string) (ocispec.Descriptor, error) { return m.root, nil }

func (m *memory) Exists(_ context.Context, d ocispec.Descriptor) (bool, error) {
	return d.Digest == m.root.Digest, nil
}

func (m *memory) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Digest != m.root.Digest {
		return nil, errdef.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(m.data)), nil
}

// FuzzManifest resolves to a manifest or an index that is anything, under its right
// digest.
func FuzzManifest(f *testing.F) {
	f.Add(orasManifest(f, "f", mediatypes.CatalogLayer, []byte("x")), false)
	f.Add(index(f, child(someDigest, 5, "linux/amd64"), child(someDigest, 5, "")), true)
	f.Add([]byte(`{"schemaVersion":2,"layers":null,"config":{}}`), false)
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"platform":null}]}`), true)
	m := &memory{}
	c := newClient(f, registry.Options{Sources: []registry.Source{m}})
	f.Fuzz(func(t *testing.T, data []byte, asIndex bool) {
		m.data = data
		m.root = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(data), Size: int64(len(data))}
		if asIndex {
			m.root.MediaType = ocispec.MediaTypeImageIndex
		}
		readAll(t, c, registry.Locator{Scheme: "memory", Name: "x"})
	})
}

func TestSource(t *testing.T) {
	t.Parallel()
	data := orasManifest(t, "f", mediatypes.CatalogLayer, []byte("x"))
	m := &memory{root: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(data), Size: int64(len(data))}, data: data}
	c := newClient(t, registry.Options{Sources: []registry.Source{m}})
	l := registry.Locator{Scheme: "memory", Name: "x", Tag: "v1"}
	a, err := c.Resolve(t.Context(), l, registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil || a.Root.Digest != m.root.Digest || l.String() != "memory://x:v1" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := a.ReadFile(t.Context(), 0); !isA[*registry.NotFoundError](err) {
		t.Errorf("its missing blob: %v", err)
	}
	m.root.Digest = someDigest
	if _, err := c.Resolve(t.Context(), l, registry.Want{}); !isA[*registry.DigestError](err) {
		t.Errorf("a wrong digest: %v", err)
	}
	if _, err := newClient(t, registry.Options{}).Resolve(t.Context(), l, registry.Want{}); !isA[*registry.ReferenceError](err) {
		t.Errorf("without the source: %v", err)
	}
	if _, err := registry.New(registry.Options{Sources: []registry.Source{m, m}}); err == nil {
		t.Error("the same source twice: no error")
	}
}

// readAll resolves and reads: whatever comes back has its digest.
func readAll(t *testing.T, c *registry.Client, l registry.Locator) {
	t.Helper()
	a, err := c.Resolve(t.Context(), l, registry.Want{})
	if err != nil {
		return
	}
	for i, f := range a.Files {
		if data, err := a.ReadFile(t.Context(), i); err == nil && digest.FromBytes(data) != f.Digest {
			t.Fatalf("%s: file %d has another digest", l, i)
		}
	}
	found, err := a.Attachments(t.Context(), a.Root.Digest, registry.Query{Tags: []string{"v1"}, ArtifactTypes: []string{""}})
	for _, at := range found {
		for _, f := range at.Files {
			if err != nil || digest.FromBytes(f.Data) != f.Digest {
				t.Fatalf("%s: attached is %+v, %v", l, at, err)
			}
		}
	}
}

// FuzzTitle pulls a file of any name: it lands in the directory or nowhere.
func FuzzTitle(f *testing.F) {
	for _, s := range []string{"a.star", "../a", "/a", "a/../b", "nul", "a\x00b", "..", "C:a", "ａ"} {
		f.Add(s)
	}
	c := newClient(f, registry.Options{})
	l := mustParse(f, "./x")
	f.Fuzz(func(t *testing.T, title string) {
		root := t.TempDir()
		dir := filepath.Join(root, "a", "b")
		paths, err := c.Pull(t.Context(), registry.Literal(l, mediatypes.RoleStarlark, title, []byte("x")), dir)
		if err != nil {
			if !isA[*registry.TitleError](err) {
				t.Fatalf("%q: %v", title, err)
			}
			return
		}
		if len(paths) != 1 || filepath.Dir(paths[0]) != dir {
			t.Fatalf("%q landed at %q", title, paths)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Fatalf("%q: %v, %v", title, entries, err)
		}
	})
}

// FuzzPattern: a pattern says what it was read from, matches the place that it is, and
// never a place of another scheme or of another host but for the label of its wildcard.
// Two patterns that are the same to Compare match the same places, in every spelling.
func FuzzPattern(f *testing.F) {
	for _, s := range [][2]string{
		{"**", "oci://h.example/r"}, {"oci://*.example.com/**", "oci://a.example.com/b/c:v1"}, {"https://h.example/*?q", "https://h.example/%2e%2e/x?q"},
		{"/a/../*/b", "/c/b"}, {"oci-layout:///a:b/**:v*", "oci-layout:///a:b/c:v1"}, {"https://h.example:443/é*", "HTTPS://H.example/%C3%A9"},
		{"oci://h.example/r@" + someDigest, "oci://h.example/r:v1@" + someDigest}, {"http://localhost:80/*", "http://localhost/x"},
		{"oci://h.example.:0443/*", "oci://H.example/*"}, {"oci://index.docker.io/x", "oci://docker.io/library/x"}, {"oci://*.docker.io/**", "oci://docker.io/a"},
		{"oci://[0::1]:5/*", "oci://[::1]:5/x"}, {"oci://localhost.:5/r", "oci://localhost:5/*"}, {"/a/./b", "/a/b"}, {"https://h./é*", "https://h/%C3%A9*"},
		{"/**", "/://:h://:/r"}, {"https://h.example/%7E%c3%a9%21", "https://h.example/~é!"}, {"oci://localhost:80/*", "oci://[::1]:443/x"},
		{"https://h.example/x?a=%7e", "https://h.example/x?b&a=~"}, {"oci://*.r,io/*", "oci://*>le.com/*"}, {"https://*.r;io/*", "https://a!.io/*"}, {"oci://*.0x7f/*", "https://[fe80::1%25eth0]/*"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, place string) {
		p, err := registry.ParsePattern(pattern)
		if err != nil {
			if !isA[*registry.ReferenceError](err) {
				t.Fatalf("%q: %T", pattern, err)
			}
			return
		}
		again, err := registry.ParsePattern(p.String())
		if p.String() != pattern || err != nil || again.Compare(p) != 0 || again != p {
			t.Fatalf("%q is written as %q: %v", pattern, p, err)
		}
		if !strings.Contains(pattern, "*") {
			if l, err := registry.Parse(pattern); err != nil || !p.Match(l) {
				t.Fatalf("%q does not match itself: %v", pattern, err)
			}
		}
		if s := p.Sample(); s.Scheme != "" && !p.Match(s) && !p.Might(s) {
			t.Fatalf("%q does not match its sample %s", pattern, s)
		}
		if q, err := registry.ParsePattern(place); err == nil {
			compareTwo(t, p, q)
		}
		l, err := registry.Parse(place)
		if err != nil || !p.Match(l) || pattern == "**" {
			return
		}
		own, err := registry.Parse(strings.ReplaceAll(pattern, "*", "x"))
		if err != nil || own.Scheme != l.Scheme || !sameHost(hostOf(pattern), hostOf(place)) {
			t.Fatalf("%q matches %q: %v", pattern, place, err)
		}
	})
}

// compareTwo sees that Compare has one answer, and that patterns it takes for the same are.
func compareTwo(t *testing.T, p, q registry.Pattern) {
	t.Helper()
	c := p.Compare(q)
	if c != -q.Compare(p) {
		t.Fatalf("%s to %s is %d, and back %d", p, q, c, q.Compare(p))
	}
	if c != 0 {
		return
	}
	for _, s := range []string{p.String(), q.String()} {
		l, err := registry.Parse(strings.ReplaceAll(s, "*", "x"))
		if err == nil && p.Match(l) != q.Match(l) {
			t.Fatalf("%s and %s are the same, and match %s: %v, %v", p, q, l, p.Match(l), q.Match(l))
		}
	}
}

// hostOf is what stands between // and the path, in one spelling.
func hostOf(s string) string {
	scheme, rest, _ := strings.Cut(strings.ToLower(s), "://")
	if scheme != "oci" && scheme != "http" && scheme != "https" { // the colon of a path
		return ""
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	rest, _, _ = strings.Cut(rest, "@sha256:")
	port := ""
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest, port = rest[:i], rest[i+1:]
		if port != "" {
			port = cmp.Or(strings.TrimLeft(port, "0"), "0")
		}
	}
	usual := "443"
	if strings.HasPrefix(strings.ToLower(s), "http:") {
		usual = "80"
	}
	if port == usual {
		port = ""
	}
	rest = strings.TrimSuffix(rest, ".")
	if addr, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		rest = addr.Unmap().String()
	}
	if strings.HasPrefix(strings.ToLower(s), "oci:") && (rest == "index.docker.io" || rest == "registry-1.docker.io" || rest == "registry.hub.docker.com") {
		rest = "docker.io"
	}
	return rest + ":" + port
}

func sameHost(want, got string) bool {
	if got == "docker.io:" {
		return sameLabels(want, got) || sameLabels(want, "index."+got) || sameLabels(want, "registry-1."+got) || sameLabels(want, "registry.hub.docker.com:")
	}
	return sameLabels(want, got)
}

func sameLabels(want, got string) bool {
	wants, gots := strings.Split(want, "."), strings.Split(got, ".")
	if len(wants) != len(gots) {
		return false
	}
	for i, w := range wants {
		if !strings.Contains(w, "*") && w != gots[i] {
			return false
		}
	}
	return true
}
