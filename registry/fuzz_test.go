package registry_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// FuzzLayoutIndex reads a layout with any index.json.
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

// memory is a place with one manifest and no blobs.
type memory struct {
	root ocispec.Descriptor
	data []byte
}

func (m *memory) Scheme() string { return "memory" }

func (m *memory) Open(context.Context, reference.Locator) (registry.Target, error) { return m, nil }

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

// FuzzManifest resolves any manifest or index with the right digest.
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
		readAll(t, c, reference.Locator{Scheme: "memory", Name: "x"})
	})
}

func TestSource(t *testing.T) {
	t.Parallel()
	data := orasManifest(t, "f", mediatypes.CatalogLayer, []byte("x"))
	m := &memory{root: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(data), Size: int64(len(data))}, data: data}
	c := newClient(t, registry.Options{Sources: []registry.Source{m}})
	l := reference.Locator{Scheme: "memory", Name: "x", Tag: "v1"}
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
	if _, err := newClient(t, registry.Options{}).Resolve(t.Context(), l, registry.Want{}); !isA[*reference.Error](err) {
		t.Errorf("without the source: %v", err)
	}
	if _, err := registry.New(registry.Options{Sources: []registry.Source{m, m}}); err == nil {
		t.Error("the same source twice: no error")
	}
}

// readAll resolves and reads, and checks the digests of the result.
func readAll(t *testing.T, c *registry.Client, l reference.Locator) {
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

// FuzzTitle pulls a file with any name: it is written to the directory or not at all.
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
