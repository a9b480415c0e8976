package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// TestBlobsByAnotherName checks that blobs of a repository or layout cannot be read as files, which
// would bypass its policy rules.
func TestBlobsByAnotherName(t *testing.T) {
	t.Parallel()
	client := newClient(t, registry.Options{Retry: registry.Retry{Max: -1}})
	const hex = "/blobs/sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for url, of := range map[string]string{
		"https://H.example.:443/v2/a/b" + hex:                 "oci://h.example/a/b",
		"https://h.example/v2/a" + hex + "?x=y":               "oci://h.example/a",
		"https://h.example//v2/./a/../b" + hex + "/":          "oci://h.example/b",
		"https://h.example/%76%32/a%2fb" + hex:                "oci://h.example/a/b",
		"https://h.example/v2/a/%62lobs/sha256%3A" + hex[14:]: "oci://h.example/a",
		"https://h.example/proxy/v2/a;x" + hex + ";y":         "oci://h.example/a",
		`https://h.example/v2\a` + hex:                        "oci://h.example/a",
		"http://127.0.0.1:1/v2/a" + hex:                       "oci://127.0.0.1:1/a",
	} {
		_, err := client.Resolve(t.Context(), mustParse(t, url), registry.Want{Role: mediatypes.RoleStarlark})
		var blob *registry.BlobError
		if !errors.As(err, &blob) || blob.Of.String() != of {
			t.Errorf("%s: %v, want a blob of %s", url, err, of)
		}
	}
	for _, url := range []string{"/v2/a/blobs/sha256:00", "/v2" + hex, "/a" + hex, "/v2/a/blobs/x.star", "/v2/a/manifests/sha256:" + hex[14:], "/"} {
		_, err := client.Resolve(t.Context(), mustParse(t, "http://127.0.0.1:1"+url), registry.Want{Role: mediatypes.RoleStarlark})
		if isA[*registry.BlobError](err) || err == nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestBlobsOfLayouts(t *testing.T) {
	t.Parallel()
	dir, a := pushedLayout(t)
	client := newClient(t, registry.Options{})
	blob := filepath.Join(dir, "blobs", "sha256", a.Files[0].Digest.Encoded())
	links := t.TempDir()
	for name, to := range map[string]string{"file": blob, "dir": filepath.Dir(blob), "up": dir} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := registry.Want{Role: mediatypes.RoleCatalog}
	base := filepath.Base(blob)
	for _, path := range []string{blob, dir + "/blobs/./sha256/../sha256/" + base, "file://" + blob, links + "/file", links + "/dir/" + base, links + "/up/blobs/sha256/" + base} {
		_, err := client.Resolve(t.Context(), mustParse(t, path), want)
		var is *registry.BlobError
		if !errors.As(err, &is) || is.Of.Scheme != reference.SchemeLayout || filepath.Base(is.Of.Name) != filepath.Base(dir) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// Without oci-layout it is an ordinary directory.
	if err := os.Remove(filepath.Join(dir, "oci-layout")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resolve(t.Context(), mustParse(t, blob), want); err != nil || strings.Contains(blob, "oci-layout") {
		t.Error(err)
	}
}
