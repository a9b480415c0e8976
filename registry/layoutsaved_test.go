package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// savedLayout writes a layout as `cosign save` does: each entry has a kind, and one blob is not
// listed.
func savedLayout(t *testing.T, kinds map[string][]byte, unlisted ...[]byte) string {
	t.Helper()
	dir := t.TempDir()
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex}
	index.SchemaVersion = 2
	for kind, data := range kinds {
		kind, _, _ = strings.Cut(kind, "#")
		d := digest.FromBytes(data)
		put(filepath.Join(blobs, d.Encoded()), data)
		index.Manifests = append(index.Manifests, ocispec.Descriptor{
			MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: int64(len(data)),
			Annotations: map[string]string{"kind": "dev.cosignproject.cosign/" + kind},
		})
	}
	for _, data := range append(unlisted, []byte(catalogYAML), []byte("sig"), []byte("bundle"), []byte("{}")) {
		put(filepath.Join(blobs, digest.FromBytes(data).Encoded()), data)
	}
	put(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion": "1.0.0"}`))
	put(filepath.Join(dir, "index.json"), toJSON(t, index))
	return "oci-layout://" + dir
}

// TestSavedLayouts checks that signatures belong to the one saved artifact, and unlisted manifests
// to the subject that they name.
func TestSavedLayouts(t *testing.T) {
	t.Parallel()
	image := orasManifest(t, "catalog.yaml", mediatypes.CatalogLayer, []byte(catalogYAML))
	other := orasManifest(t, "other.yaml", mediatypes.CatalogLayer, []byte(catalogYAML))
	sigs := orasManifest(t, "sig", sigType, []byte("sig"))
	referrer := func(of digest.Digest) []byte {
		return []byte(strings.Replace(string(orasManifest(t, "b", bundleType, []byte("bundle"))), `"artifactType":"application/vnd.unknown.artifact.v1"`,
			`"artifactType":"`+bundleType+`","subject":{"mediaType":"`+ocispec.MediaTypeImageManifest+`","digest":"`+of.String()+`","size":1}`, 1))
	}
	d := digest.FromBytes(image)
	c := newClient(t, registry.Options{})
	for name, test := range map[string]struct {
		at   string
		want string // "" where the artifact is not found
	}{
		"legacy":               {savedLayout(t, map[string][]byte{"image": image, "sigs": sigs}), "[sig]"},
		"bundle":               {savedLayout(t, map[string][]byte{"image": image}, referrer(d)), "[bundle]"},
		"both":                 {savedLayout(t, map[string][]byte{"image": image, "sigs": sigs}, referrer(d)), "[sig bundle]"},
		"bundle of another":    {savedLayout(t, map[string][]byte{"image": image}, referrer(digest.FromBytes(other))), "[]"},
		"attestations":         {savedLayout(t, map[string][]byte{"image": image, "atts": sigs}), "[]"},
		"two artifacts":        {savedLayout(t, map[string][]byte{"image": image, "image#2": other, "sigs": sigs}), ""},
		"signatures of no one": {savedLayout(t, map[string][]byte{"sigs": sigs, "sigs#2": other}), ""},
	} {
		a, err := c.Resolve(t.Context(), mustParse(t, test.at), registry.Want{Role: mediatypes.RoleCatalog})
		if test.want == "" {
			if !isA[*registry.NotFoundError](err) {
				t.Errorf("%s: found %v, %v", name, a.Root.Digest, err)
			}
			continue
		}
		if err != nil || a.Root.Digest != d {
			t.Errorf("%s: %v, %v", name, a.Root.Digest, err)
			continue
		}
		found, err := a.Attachments(t.Context(), d, signatures(d))
		if got := "[" + strings.Join(contents(found), " ") + "]"; err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
}

// TestSavedUnread checks that a blob that cannot be read is an error, because it may be a
// signature.
func TestSavedUnread(t *testing.T) {
	t.Parallel()
	image := orasManifest(t, "catalog.yaml", mediatypes.CatalogLayer, []byte(catalogYAML))
	d := digest.FromBytes(image)
	c := newClient(t, registry.Options{})
	for name, spoil := range map[string]func(blob string) error{
		"changed":           func(blob string) error { return os.WriteFile(blob, []byte("another"), 0o600) },
		"empty":             func(blob string) error { return os.WriteFile(blob, nil, 0o600) },
		"a directory":       func(blob string) error { return errors.Join(os.Remove(blob), os.Mkdir(blob, 0o700)) },
		"a link to nothing": func(blob string) error { return errors.Join(os.Remove(blob), os.Symlink(blob+"-gone", blob)) },
		"a link to itself":  func(blob string) error { return errors.Join(os.Remove(blob), os.Symlink(blob, blob)) },
		"": func(blob string) error {
			return errors.Join(os.Rename(blob, blob+"-moved"), os.Symlink(blob+"-moved", blob))
		},
	} {
		unlisted := []byte("it was something")
		at := mustParse(t, savedLayout(t, map[string][]byte{"image": image}, unlisted))
		if err := spoil(filepath.Join(at.Name, "blobs", "sha256", digest.FromBytes(unlisted).Encoded())); err != nil {
			t.Fatal(err)
		}
		a, err := c.Resolve(t.Context(), at, registry.Want{Role: mediatypes.RoleCatalog})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := a.Attachments(t.Context(), d, signatures(d)); (err == nil) != (name == "") {
			t.Errorf("%s: found %d, %v", name, len(found), err)
		}
	}
}
