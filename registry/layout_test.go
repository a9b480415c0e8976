package registry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// pushedLayout returns a layout with one catalog at :v1.
func pushedLayout(t testing.TB) (string, registry.Artifact) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	a, err := newClient(t, registry.Options{}).Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v1"), bundles()["catalog"])
	if err != nil {
		t.Fatal(err)
	}
	return dir, a
}

func blobFile(dir string, d ocispec.Descriptor) string {
	return filepath.Join(dir, "blobs", "sha256", d.Digest.Encoded())
}

func TestLayoutTampered(t *testing.T) {
	t.Parallel()
	missing, wrong, malformed := isA[*registry.NotFoundError], isA[*registry.DigestError], isA[*registry.ManifestError]
	edit := func(old, changed string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, changed, 1) }
	}
	for name, c := range map[string]struct {
		file   func(dir string, a registry.Artifact) string
		change func(string) string // nil: removed
		is     func(error) bool
	}{
		"blob changed":     {layerFile, edit("a", "b"), wrong},
		"blob cut":         {layerFile, func(s string) string { return s[:5] }, wrong},
		"blob longer":      {layerFile, func(s string) string { return s + "x" }, wrong},
		"blob gone":        {layerFile, nil, missing},
		"manifest changed": {manifestFile, edit("catalog.yaml", "cbtalog.yaml"), wrong},
		"manifest gone":    {manifestFile, nil, missing},
		"index not JSON":   {at("index.json"), func(string) string { return "{" }, malformed},
		"index empty":      {at("index.json"), func(string) string { return "" }, malformed},
		"index other tag":  {at("index.json"), edit(`"v1"`, `"v2"`), missing},
		"index other size": {at("index.json"), edit(`"size":`, `"size":1`), wrong},
		"index no digest":  {at("index.json"), edit(`"digest":"sha256:`, `"digest":"`), malformed},
		"index escapes":    {at("index.json"), edit(`"digest":"sha256:`, `"digest":"../../`), malformed},
		"index large":      {at("index.json"), edit(`"size":`, `"size":99999999`), isA[*registry.TooLargeError]},
		"index other type": {at("index.json"), edit(`"mediaType":"application/vnd.oci.image.manifest.v1+json"`, `"mediaType":"text/plain"`), malformed},
		"index gone":       {at("index.json"), nil, missing},
		"marker gone":      {at("oci-layout"), nil, missing},
		"marker other":     {at("oci-layout"), edit("1.0.0", "2.0.0"), malformed},
	} {
		dir, a := pushedLayout(t)
		path := c.file(dir, a)
		if c.change == nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.change(string(data))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), "oci-layout://"+dir+":v1")
		if err == nil || !c.is(err) {
			t.Errorf("%s: %v (%T)", name, err, err)
		}
	}
}

func at(name string) func(string, registry.Artifact) string {
	return func(dir string, _ registry.Artifact) string { return filepath.Join(dir, name) }
}
func layerFile(dir string, a registry.Artifact) string    { return blobFile(dir, a.Files[0]) }
func manifestFile(dir string, a registry.Artifact) string { return blobFile(dir, a.Manifest) }

func TestLayoutTags(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{})
	base := "oci-layout://" + filepath.Join(t.TempDir(), "layout")
	push := func(tail, data string, more ...string) {
		t.Helper()
		b := registry.Bundle{Role: mediatypes.RoleCatalog, Files: []registry.File{{Title: "c.yaml", Data: []byte(data)}}}
		if _, err := c.Push(t.Context(), mustParse(t, base+tail), b, more...); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(tail, data string) {
		t.Helper()
		if got, err := readCatalog(t.Context(), t, c, base+tail); got != data {
			t.Errorf("%q is %q, %v, want %q", tail, got, err, data)
		}
	}
	push("", "only")
	expect("", "only")
	push(":v1", "one", "v1.0")
	expect("", "") // two, neither called latest
	push(":latest", "newest")
	expect("", "newest")
	push(":v1", "two")
	expect(":v1", "two")
	expect(":v1.0", "one")
	expect(":latest", "newest")
	expect(":v9", "")
}

func TestLayoutPushesDoNotLoseTags(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "layout")
	var all sync.WaitGroup
	const n = 12
	for i := range n {
		all.Go(func() {
			c := newClient(t, registry.Options{})
			b := registry.Bundle{Role: mediatypes.RoleCatalog, Files: []registry.File{{Title: "c.yaml", Data: fmt.Append(nil, i)}}}
			if _, err := c.Push(t.Context(), mustParse(t, fmt.Sprintf("oci-layout://%s:v%d", dir, i)), b); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c := newClient(t, registry.Options{})
	for i := range n {
		if got, err := readCatalog(t.Context(), t, c, fmt.Sprintf("oci-layout://%s:v%d", dir, i)); got != fmt.Sprint(i) {
			t.Errorf("v%d is %q, %v", i, got, err)
		}
	}
}

func TestLayoutPushSpares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newClient(t, registry.Options{}).Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v1"), bundles()["catalog"])
	if !isA[*reference.Error](err) || !strings.Contains(err.Error(), "precious.txt") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("written: %v", entries)
	}
}

// TestLayoutAndOras checks that oras reads what krmcat writes, and the reverse.
func TestLayoutAndOras(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir, a := pushedLayout(t)
	store, err := oci.NewFromFS(ctx, os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	root, err := store.Resolve(ctx, "v1")
	if err != nil || root.Digest != a.Root.Digest {
		t.Fatalf("oras finds %v, %v", root, err)
	}
	if data, err := content.FetchAll(ctx, store, a.Files[0]); err != nil || string(data) != catalogYAML {
		t.Errorf("oras reads %q, %v", data, err)
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	target, err := oci.New(theirs)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := oras.PushBytes(ctx, target, mediatypes.CatalogLayer, []byte(catalogYAML))
	if err != nil {
		t.Fatal(err)
	}
	m, err := oras.PackManifest(ctx, target, oras.PackManifestVersion1_1, oras.MediaTypeUnknownArtifact, oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Tag(ctx, m, "v1"); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, registry.Options{})
	if got, err := readCatalog(ctx, t, c, "oci-layout://"+theirs+":v1"); err != nil || got != catalogYAML {
		t.Errorf("krmcat reads %q, %v", got, err)
	}
	if _, err := c.Push(ctx, mustParse(t, "oci-layout://"+theirs+":v2"), bundles()["script"]); err != nil {
		t.Fatal(err)
	}
	if again, err := oci.NewFromFS(ctx, os.DirFS(theirs)); err != nil {
		t.Error(err)
	} else if found, err := again.Resolve(ctx, "v1"); err != nil || found.Digest != m.Digest {
		t.Errorf("after a push of krmcat, oras finds %v, %v", found, err)
	}
}

func TestLayoutDuplicateTag(t *testing.T) {
	t.Parallel()
	dir, a := pushedLayout(t)
	other := a.Root
	other.Digest = someDigest
	tag := map[string]string{ocispec.AnnotationRefName: "v1"}
	other.Annotations, a.Root.Annotations = tag, tag
	var idx ocispec.Index
	if err := json.Unmarshal(index(t, a.Root, other), &idx); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), toJSON(t, idx), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, registry.Options{})
	l := mustParse(t, "oci-layout://"+dir+":v1")
	if _, err := c.Resolve(t.Context(), l, registry.Want{}); !isA[*registry.ManifestError](err) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Push(t.Context(), l, bundles()["catalog"]); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Resolve(t.Context(), l, registry.Want{}); err != nil || got.Root.Digest != a.Root.Digest {
		t.Errorf("after a push: %v, %v", got.Root.Digest, err)
	}
}
