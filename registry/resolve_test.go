package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

func index(t testing.TB, children ...ocispec.Descriptor) []byte {
	t.Helper()
	return toJSON(t, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: children,
	})
}

func child(d digest.Digest, size int, platform string) ocispec.Descriptor {
	c := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: int64(size)}
	if platform != "" {
		parts := strings.Split(platform+"/", "/")
		c.Platform = &ocispec.Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}
	}
	return c
}

func TestRoles(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	c := newClient(t, registry.Options{})
	image := toJSON(t, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: someDigest, Size: 2},
		Layers: []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: someDigest, Size: 3}},
	})
	f.Manifest(ocispec.MediaTypeImageManifest, image, "container")
	f.Manifest("application/vnd.docker.distribution.manifest.v2+json",
		[]byte(strings.NewReplacer(ocispec.MediaTypeImageManifest, "application/vnd.docker.distribution.manifest.v2+json",
			ocispec.MediaTypeImageConfig, "application/vnd.docker.container.image.v1+json").Replace(string(image))), "docker")
	for _, r := range []mediatypes.Role{mediatypes.RoleCatalog, mediatypes.RoleDefinition, mediatypes.RoleStarlark, mediatypes.RoleExec} {
		f.Manifest(ocispec.MediaTypeImageManifest, orasManifest(t, "f", r.Layer(), []byte("x")), string(r))
	}
	f.Manifest(ocispec.MediaTypeImageManifest, orasManifest(t, "f", "text/plain", []byte("x")), "other")
	for _, tc := range []struct {
		tag       string
		want, got mediatypes.Role // got empty: a *RoleError
	}{
		{"catalog", "", mediatypes.RoleCatalog},
		{"catalog", mediatypes.RoleDefinition, mediatypes.RoleCatalog},
		{"definition", mediatypes.RoleCatalog, mediatypes.RoleDefinition},
		{"starlark", mediatypes.RoleExec, mediatypes.RoleExec},
		{"exec", mediatypes.RoleExec, mediatypes.RoleExec},
		{"exec", mediatypes.RoleStarlark, ""},
		{"catalog", mediatypes.RoleStarlark, ""},
		{"container", mediatypes.RoleContainer, mediatypes.RoleContainer},
		{"docker", mediatypes.RoleContainer, mediatypes.RoleContainer},
		{"container", mediatypes.RoleExec, ""},
		{"other", "", ""},
		{"other", mediatypes.RoleCatalog, ""},
	} {
		ref := "oci://" + f.Host + "/a:" + tc.tag
		a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{Role: tc.want})
		var re *registry.RoleError
		switch {
		case tc.got != "" && (err != nil || a.Role != tc.got):
			t.Errorf("%s wanted as %q: %q, %v", tc.tag, tc.want, a.Role, err)
		case tc.got == "" && (!errors.As(err, &re) || re.Want != tc.want || !strings.Contains(err.Error(), ref)):
			t.Errorf("%s wanted as %q: %q, %v", tc.tag, tc.want, a.Role, err)
		}
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	c := newClient(t, registry.Options{})
	add := func(data string) (digest.Digest, int) {
		f.Blob([]byte(data))
		m := orasManifest(t, "f", mediatypes.ExecLayer, []byte(data))
		return f.Manifest(ocispec.MediaTypeImageManifest, m), len(m)
	}
	amd, n1 := add("amd64")
	arm7, n2 := add("armv7")
	arm6, n3 := add("armv6")
	f.Manifest(ocispec.MediaTypeImageIndex, index(t, child(amd, n1, "unknown/unknown"), child(amd, n1, "linux/amd64"),
		child(arm7, n2, "linux/arm/v7"), child(arm6, n3, "linux/arm/v6")), "many")
	f.Manifest(ocispec.MediaTypeImageIndex, index(t, child(amd, n1, "")), "one")
	inner := index(t, child(amd, n1, "linux/amd64"))
	nested := child(f.Manifest(ocispec.MediaTypeImageIndex, inner), len(inner), "")
	nested.MediaType = ocispec.MediaTypeImageIndex
	f.Manifest(ocispec.MediaTypeImageIndex, index(t, nested), "nested")
	for _, tc := range []struct{ tag, platform, want string }{
		{"many", "linux/amd64", "amd64"},
		{"many", "linux/arm", "armv7"},
		{"many", "linux/arm/v6", "armv6"},
		{"many", "windows/amd64", ""},
		{"many", "unknown/unknown", ""},
		{"one", "windows/amd64", "amd64"},
		{"nested", "linux/amd64", "amd64"},
		{"nested", "linux/arm64", ""},
	} {
		a, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/a:"+tc.tag), registry.Want{Platform: tc.platform})
		if tc.want == "" {
			var pe *registry.PlatformError
			if !errors.As(err, &pe) || !strings.Contains(err.Error(), "linux/amd64") || pe.Want != tc.platform {
				t.Errorf("%v: %v", tc, err)
			}
			continue
		}
		data, err := a.ReadFile(t.Context(), 0)
		if err != nil || string(data) != tc.want {
			t.Errorf("%v: %q, %v", tc, data, err)
		}
		if a.Root.Digest == a.Manifest.Digest || a.Root.MediaType != ocispec.MediaTypeImageIndex {
			t.Errorf("%v: root %+v", tc, a.Root)
		}
	}
}

func TestMalformedManifests(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	c := newClient(t, registry.Options{})
	good := string(orasManifest(t, "f", mediatypes.CatalogLayer, []byte("x")))
	loop := `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":-5,"digest":"` + someDigest + `"}]}`
	for name, data := range map[string]string{
		"empty":             "",
		"not JSON":          "<html>",
		"cut":               good[:len(good)-10],
		"null":              "null",
		"a list":            "[]",
		"version 1":         strings.Replace(good, `"schemaVersion":2`, `"schemaVersion":1`, 1),
		"both":              strings.Replace(good, `{"schemaVersion"`, `{"manifests":[],"schemaVersion"`, 1),
		"neither":           `{"schemaVersion":2}`,
		"another type":      strings.Replace(good, "image.manifest.v1", "image.index.v1", 1),
		"negative size":     strings.Replace(good, `"size":1,`, `"size":-1,`, 1),
		"malformed digest":  strings.Replace(good, `"digest":"sha256:2d`, `"digest":"sha256:../`, 1),
		"unknown algorithm": strings.Replace(good, `"digest":"sha256:2d`, `"digest":"md5:2d`, 1),
		"negative child":    loop,
		"deep":              strings.Repeat("[", 100000),
	} {
		mediaType := ocispec.MediaTypeImageManifest
		if data == loop {
			mediaType = ocispec.MediaTypeImageIndex
		}
		f.Manifest(mediaType, []byte(data), "v1")
		_, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/a:v1"), registry.Want{})
		if !isA[*registry.ManifestError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := index(t, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: someDigest, Size: 1})
	for range 5 {
		d := f.Manifest(ocispec.MediaTypeImageIndex, many, "v1")
		many = index(t, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d, Size: int64(len(many))})
	}
	if _, err := c.Resolve(t.Context(), mustParse(t, "oci://"+f.Host+"/a:v1"), registry.Want{}); !isA[*registry.ManifestError](err) {
		t.Errorf("nested: %v", err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{CacheDir: filepath.Join(t.TempDir(), "cache")})
	dir := t.TempDir()
	path := filepath.Join(dir, "catalog.yaml")
	if err := os.WriteFile(path, []byte(catalogYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	d := digest.FromString(catalogYAML)
	for _, ref := range []string{path, "file://" + path, path + "@" + d.String()} {
		a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{Role: mediatypes.RoleCatalog})
		if err != nil {
			t.Fatal(err)
		}
		data, err := a.ReadFile(t.Context(), 0)
		if err != nil || string(data) != catalogYAML || a.Root.Digest != d || a.Role != mediatypes.RoleCatalog || registry.Title(a.Files[0]) != "catalog.yaml" {
			t.Errorf("%s: %+v, %q, %v", ref, a, data, err)
		}
	}
	if _, err := c.Resolve(t.Context(), mustParse(t, path+"@"+someDigest), registry.Want{}); !isA[*registry.DigestError](err) {
		t.Errorf("pinned to something else: %v", err)
	}
	if _, err := c.Resolve(t.Context(), mustParse(t, dir), registry.Want{}); err == nil || isA[*registry.UnreachableError](err) {
		t.Errorf("a directory: %v", err)
	}
	a, err := c.Resolve(t.Context(), mustParse(t, path), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	for _, later := range []string{strings.Replace(catalogYAML, "a", "b", 1), catalogYAML + "more", catalogYAML[:5]} {
		if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := a.ReadFile(t.Context(), 0); !isA[*registry.DigestError](err) {
			t.Errorf("changed since: %v", err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReadFile(t.Context(), 0); !isA[*registry.NotFoundError](err) {
		t.Errorf("removed since: %v", err)
	}
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	d := digest.FromString(catalogYAML)
	serve := func(how ...regtest.Middleware) string {
		f := regtest.Serve(t, how...)
		f.Blob([]byte(catalogYAML))
		return f.URL + "/a/blobs/" + d.String()
	}
	c := newClient(t, registry.Options{})
	url := serve()
	moved := serve(regtest.Redirect(func() string { return strings.TrimSuffix(url, "/a/blobs/"+d.String()) }))
	for _, ref := range []string{url, url + "@" + d.String(), moved, serve(regtest.First(2, regtest.Fail(503, ""))), serve(regtest.First(1, regtest.Truncate()))} {
		got, err := readCatalog(t.Context(), t, c, ref)
		if err != nil || got != catalogYAML {
			t.Errorf("%s: %q, %v", ref, got, err)
		}
	}
	for _, tc := range []struct {
		ref string
		is  func(error) bool
	}{
		{url + "@" + someDigest, isA[*registry.DigestError]},
		{url + "x", isA[*registry.NotFoundError]},
		{serve(regtest.Fail(410, "")), isA[*registry.NotFoundError]},
		{serve(regtest.Fail(401, "")), isA[*registry.UnreachableError]},
		{serve(regtest.Fail(500, "")), isA[*registry.UnreachableError]},
		{serve(regtest.Truncate()), isA[*registry.UnreachableError]},
		{serve(regtest.Announce(100 << 20)), isA[*registry.TooLargeError]},
		{serve(regtest.Endless(0)), isA[*registry.TooLargeError]},
		{serve(regtest.Redirect(func() string { return "" })), isA[*registry.UnreachableError]},
	} {
		if _, err := readCatalog(t.Context(), t, c, tc.ref); err == nil || !tc.is(err) {
			t.Errorf("%s: %v", tc.ref, err)
		}
	}
	// The content that Resolve saw is read, whatever the server returns later.
	changed := regtest.Serve(t, regtest.First(1, regtest.Tamper()))
	changed.Blob([]byte(catalogYAML))
	a, err := c.Resolve(t.Context(), mustParse(t, changed.URL+"/"+d.String()), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := a.ReadFile(t.Context(), 0); err != nil || digest.FromBytes(data) != a.Root.Digest {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	from := mustParse(t, "./kustomization.yaml")
	a := registry.Literal(from, mediatypes.RoleStarlark, "inline.star", []byte("x"))
	if data, err := a.ReadFile(t.Context(), 0); err != nil || string(data) != "x" || a.Root.Digest != digest.FromString("x") {
		t.Errorf("%q, %v", data, err)
	}
	if a.From != from || a.Role != mediatypes.RoleStarlark || registry.Title(a.Files[0]) != "inline.star" {
		t.Errorf("%+v", a)
	}
	for i, a := range []registry.Artifact{a, {}} {
		if _, err := a.Read(t.Context(), ocispec.Descriptor{Digest: someDigest}); err == nil {
			t.Errorf("%d: read what it does not have", i)
		}
		if _, err := a.ReadFile(t.Context(), 7); err == nil {
			t.Errorf("%d: read a file it does not have", i)
		}
	}
}

func TestPullRefusesTitles(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{})
	for _, title := range []string{
		"../evil", "/etc/passwd", "a/b", `a\b`, "..", ".", ".bashrc", "C:evil", "nul", "COM1.yaml", "lpt¹", "a\nb", "a\x1b[2J",
		"trailing.", "trailing ", " leading", "what?", strings.Repeat("x", 300), "\u202eevil", "\xff",
	} {
		a := registry.Literal(mustParse(t, "./x"), mediatypes.RoleStarlark, title, []byte("x"))
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := c.Pull(t.Context(), a, dir); !isA[*registry.TitleError](err) {
			t.Errorf("%q: %v", title, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: the directory was made", title)
		}
	}
	a := registry.Literal(mustParse(t, "./x"), mediatypes.RoleStarlark, "a.star", []byte("x"))
	a.Files = append(a.Files, a.Files[0])
	a.Files[1].Annotations = map[string]string{ocispec.AnnotationTitle: "A.STAR"}
	if _, err := c.Pull(t.Context(), a, t.TempDir()); !isA[*registry.TitleError](err) {
		t.Errorf("twice: %v", err)
	}
}

func TestPullWritesNothingWithoutEverything(t *testing.T) {
	t.Parallel()
	f, ref := serveCatalog(t, regtest.On("/blobs/", regtest.Tamper()))
	_ = f
	c := newClient(t, registry.Options{})
	a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), a, dir); !isA[*registry.DigestError](err) {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "catalog.yaml")); err != nil || string(data) != "old" {
		t.Errorf("the old file holds %q, %v", data, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
