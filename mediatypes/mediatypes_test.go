package mediatypes_test

import (
	"encoding/json"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
)

func packedRoles() []mediatypes.Role {
	return []mediatypes.Role{
		mediatypes.RoleCatalog, mediatypes.RoleDefinition, mediatypes.RoleStarlark, mediatypes.RoleExec,
	}
}

func withLayer(t string) ocispec.Manifest {
	return ocispec.Manifest{
		ArtifactType: "application/vnd.unknown.artifact.v1",
		Config:       ocispec.Descriptor{MediaType: ocispec.MediaTypeEmptyJSON},
		Layers:       []ocispec.Descriptor{{MediaType: t}},
	}
}

func TestRoleOfPackedRoles(t *testing.T) {
	t.Parallel()
	for _, r := range packedRoles() {
		for how, m := range map[string]ocispec.Manifest{
			"by artifact type":          {ArtifactType: r.Artifact()},
			"by config":                 {Config: ocispec.Descriptor{MediaType: r.Artifact()}},
			"by layer, as oras packs":   withLayer(r.Layer()),
			"in capitals":               {ArtifactType: strings.ToUpper(r.Artifact())},
			"with a parameter":          withLayer(r.Layer() + "; charset=utf-8"),
			"by layer, with a platform": {Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig}, Layers: []ocispec.Descriptor{{MediaType: r.Layer()}}},
			"artifact type before rest": {ArtifactType: r.Artifact(), Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig}},
		} {
			if got, ok := mediatypes.RoleOf(m); !ok || got != r {
				t.Errorf("%s %s: got %q, %v", r, how, got, ok)
			}
		}
	}
}

func TestRoleOfOthers(t *testing.T) {
	t.Parallel()
	image := ocispec.Manifest{Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig}}
	if got, ok := mediatypes.RoleOf(image); !ok || got != mediatypes.RoleContainer {
		t.Errorf("an image: got %q, %v", got, ok)
	}
	for name, m := range map[string]ocispec.Manifest{
		"nothing":       {},
		"unknown layer": withLayer("text/plain"),
		"no layers":     {ArtifactType: "application/vnd.unknown.artifact.v1"},
		"a prefix":      withLayer(mediatypes.CatalogLayer + "+gzip"),
	} {
		if got, ok := mediatypes.RoleOf(m); ok || got != mediatypes.RoleUnknown {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]mediatypes.Role{}
	for _, r := range packedRoles() {
		for _, n := range []string{r.Layer(), r.Artifact()} {
			if other, twice := seen[n]; twice || n == "" {
				t.Errorf("%s shares %q with %s", r, n, other)
			}
			seen[n] = r
		}
	}
	for _, r := range []mediatypes.Role{mediatypes.RoleUnknown, mediatypes.RoleContainer, "other"} {
		if r.Layer() != "" || r.Artifact() != "" {
			t.Errorf("%q has names", r)
		}
	}
}

func FuzzRoleOf(f *testing.F) {
	for _, r := range packedRoles() {
		data, err := json.Marshal(withLayer(r.Layer()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m ocispec.Manifest
		if json.Unmarshal(data, &m) != nil {
			return
		}
		if r, ok := mediatypes.RoleOf(m); ok != (r != mediatypes.RoleUnknown) {
			t.Errorf("role %q, %v", r, ok)
		}
	})
}
