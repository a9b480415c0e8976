package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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

// FuzzManifest reads a layout whose only manifest is anything, under its right digest.
func FuzzManifest(f *testing.F) {
	f.Add(orasManifest(f, "f", mediatypes.CatalogLayer, []byte("x")), false)
	f.Add(index(f, child(someDigest, 5, "linux/amd64"), child(someDigest, 5, "")), true)
	f.Add([]byte(`{"schemaVersion":2,"layers":null,"config":{}}`), false)
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"platform":null}]}`), true)
	dir, _ := pushedLayout(f)
	c := newClient(f, registry.Options{})
	l := mustParse(f, "oci-layout://"+dir+":v1")
	f.Fuzz(func(t *testing.T, data []byte, asIndex bool) {
		d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(data), Size: int64(len(data))}
		if asIndex {
			d.MediaType = ocispec.MediaTypeImageIndex
		}
		path := blobFile(dir, d)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		pinned := l
		pinned.Digest = d.Digest
		readAll(t, c, pinned)
		d.Annotations = map[string]string{ocispec.AnnotationRefName: "v1"}
		if err := os.WriteFile(filepath.Join(dir, "index.json"), index(t, d), 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, c, l)
	})
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
