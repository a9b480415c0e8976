package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// orasManifest is the manifest that `oras push FILE:TYPE` writes for one file.
func orasManifest(t testing.TB, title, layerType string, data []byte) []byte {
	t.Helper()
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: "application/vnd.unknown.artifact.v1",
		Config:       ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{{
			MediaType: layerType, Digest: digest.FromBytes(data), Size: int64(len(data)),
			Annotations: map[string]string{ocispec.AnnotationTitle: title},
		}},
		Annotations: map[string]string{ocispec.AnnotationCreated: "2026-01-02T03:04:05Z"},
	}
	return toJSON(t, m)
}

func toJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// serveCatalog serves one catalog at oci://HOST/team/catalog:v1.
func serveCatalog(t testing.TB, how ...regtest.Middleware) (*regtest.Fake, string) {
	t.Helper()
	f := regtest.Serve(t, how...)
	fillCatalog(t, f)
	return f, "oci://" + f.Host + "/team/catalog:v1"
}

func fillCatalog(t testing.TB, f *regtest.Fake) digest.Digest {
	t.Helper()
	f.Blob([]byte(catalogYAML))
	return f.Manifest(ocispec.MediaTypeImageManifest, orasManifest(t, "catalog.yaml", mediatypes.CatalogLayer, []byte(catalogYAML)), "v1")
}

// readCatalog resolves and reads.
func readCatalog(ctx context.Context, t testing.TB, c *registry.Client, ref string) (string, error) {
	t.Helper()
	a, err := c.Resolve(ctx, mustParse(t, ref), registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return "", err
	}
	data, err := a.ReadFile(ctx, 0)
	return string(data), err
}

func TestPlainOrasArtifact(t *testing.T) {
	t.Parallel()
	_, ref := serveCatalog(t)
	got, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), ref)
	if err != nil || got != catalogYAML {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPassingTrouble(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]regtest.Middleware{
		"500 twice":         regtest.First(2, regtest.Fail(http.StatusInternalServerError, "")),
		"429 with a wait":   regtest.First(1, regtest.Fail(http.StatusTooManyRequests, "1")),
		"503 with a wait":   regtest.First(1, regtest.Fail(http.StatusServiceUnavailable, "0")),
		"reset":             regtest.First(2, regtest.Reset()),
		"reset of a blob":   regtest.On("/blobs/", regtest.First(1, regtest.Reset())),
		"cut blob":          regtest.On("/blobs/", regtest.First(1, regtest.Truncate())),
		"cut manifest":      regtest.On("/manifests/", regtest.First(1, regtest.Truncate())),
		"500 before a blob": regtest.On("/blobs/", regtest.First(1, regtest.Fail(http.StatusBadGateway, ""))),
	} {
		_, ref := serveCatalog(t, m)
		got, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), ref)
		if err != nil || got != catalogYAML {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestLastingTrouble(t *testing.T) {
	t.Parallel()
	unreachable, tooLarge, wrongDigest := isA[*registry.UnreachableError], isA[*registry.TooLargeError], isA[*registry.DigestError]
	for name, c := range map[string]struct {
		how  regtest.Middleware
		want func(error) bool
	}{
		"500":                     {regtest.Fail(http.StatusInternalServerError, ""), unreachable},
		"429 for a day":           {regtest.Fail(http.StatusTooManyRequests, "86400"), unreachable},
		"403":                     {regtest.Fail(http.StatusForbidden, ""), unreachable},
		"401":                     {regtest.Login(), unreachable},
		"404":                     {regtest.Fail(http.StatusNotFound, ""), isA[*registry.NotFoundError]},
		"resets":                  {regtest.Reset(), unreachable},
		"tampered blob":           {regtest.On("/blobs/", regtest.Tamper()), wrongDigest},
		"tampered manifest":       {regtest.On("/manifests/", regtest.Tamper()), wrongDigest},
		"truncated blob":          {regtest.On("/blobs/", regtest.Truncate()), wrongDigest},
		"short blob":              {regtest.On("/blobs/", regtest.Shorten()), wrongDigest},
		"no blob":                 {regtest.On("/blobs/", regtest.Fail(http.StatusNotFound, "")), isA[*registry.NotFoundError]},
		"manifest of 100 MB":      {regtest.On("/manifests/", regtest.Announce(100<<20)), tooLarge},
		"endless manifest":        {regtest.On("/manifests/", regtest.Endless(100)), wrongDigest},
		"endless manifest, large": {regtest.On("/manifests/", regtest.Endless(1<<40)), tooLarge},
		"redirects in a circle":   {regtest.Redirect(func() string { return "" }), unreachable},
	} {
		_, ref := serveCatalog(t, c.how)
		got, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), ref)
		if err == nil || !c.want(err) {
			t.Errorf("%s: got %q, %v (%T)", name, got, err, err)
			continue
		}
		if !strings.Contains(err.Error(), ref) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %q does not name %s in one clean line", name, err, ref)
		}
	}
}

func TestPinnedManifestTampered(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t, regtest.On("/manifests/", regtest.Tamper()))
	d := fillCatalog(t, f)
	_, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), "oci://"+f.Host+"/a@"+d.String())
	var de *registry.DigestError
	if !errors.As(err, &de) || de.Want != d || de.Got == "" || de.Got == d {
		t.Errorf("got %v", err)
	}
}

func TestPinnedManifestSwapped(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	other := orasManifest(t, "catalog.yaml", mediatypes.CatalogLayer, []byte("other"))
	// The registry returns another valid manifest for the digest.
	f.Manifest(ocispec.MediaTypeImageManifest, other, someDigest)
	_, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), "oci://"+f.Host+"/a@"+someDigest)
	if !isA[*registry.DigestError](err) {
		t.Errorf("got %v", err)
	}
}

func TestLoginsStayAtTheirHost(t *testing.T) {
	t.Parallel()
	other := regtest.Serve(t)
	fillCatalog(t, other)
	challenger := regtest.Serve(t, regtest.Login())
	for name, to := range map[string]*regtest.Fake{"that serves": other, "that asks for a login": challenger} {
		f := regtest.Serve(t, regtest.Login(), regtest.On("/blobs/", regtest.Redirect(func() string { return to.URL })))
		fillCatalog(t, f)
		c := newClient(t, registry.Options{DockerConfigDir: regtest.DockerConfig(t, f.Host)})
		_, err := readCatalog(t.Context(), t, c, "oci://"+f.Host+"/team/catalog:v1")
		if (err == nil) != (to == other) {
			t.Errorf("host %s: %v", name, err)
		}
		asked := to.Requests()
		if len(asked) == 0 {
			t.Errorf("host %s was never asked", name)
		}
		for _, r := range asked {
			if r.Header.Get("Authorization") != "" {
				t.Errorf("host %s was sent the login in %s %s", name, r.Method, r.URL)
			}
		}
	}
}

func TestRedirectsKeepTLS(t *testing.T) {
	t.Parallel()
	plain := regtest.Serve(t)
	fillCatalog(t, plain)
	f := regtest.ServeTLS(t, regtest.On("/blobs/", regtest.Redirect(func() string { return plain.URL })))
	fillCatalog(t, f)
	c := newClient(t, registry.Options{Insecure: true})
	if _, err := readCatalog(t.Context(), t, c, "oci://"+f.Host+"/a:v1"); !isA[*registry.UnreachableError](err) {
		t.Errorf("got %v", err)
	}
	if n := len(plain.Requests()); n != 0 {
		t.Errorf("the plain host was asked %d times", n)
	}
	if _, err := readCatalog(t.Context(), t, newClient(t, registry.Options{CAFile: writePEMOf(t)}), "oci://"+f.Host+"/a:v1"); !isA[*registry.UnreachableError](err) {
		t.Errorf("with another authority: %v", err)
	}
}

// writePEMOf writes the certificate of an unrelated authority.
func writePEMOf(t *testing.T) string {
	t.Helper()
	return regtest.Start(t, regtest.Options{TLS: true}).CAFile
}

func TestConcurrentReadsFetchOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	hold := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-release
			next.ServeHTTP(w, r)
		})
	}
	f, ref := serveCatalog(t, regtest.On("/blobs/", hold))
	c := newClient(t, registry.Options{CacheDir: t.TempDir()})
	a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { _, err := a.ReadFile(impatient, 0); gaveUp <- err }()
	<-arrived // the impatient one's request is under way: who comes now joins it or finds the cache
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if data, err := a.ReadFile(t.Context(), 0); err != nil || string(data) != catalogYAML {
				t.Errorf("got %q, %v", data, err)
			}
		})
	}
	close(release)
	all.Wait()
	cancel()
	if err := <-gaveUp; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the impatient one got %v", err)
	}
	if n := f.Count(http.MethodGet, "/blobs/"); n != 1 {
		t.Errorf("%d requests for one blob", n)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"/manifests/", "/blobs/"} {
		arrived := make(chan struct{}, 1)
		_, ref := serveCatalog(t, regtest.On(part, regtest.Hang(arrived)))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		if _, err := readCatalog(ctx, t, newClient(t, registry.Options{}), ref); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", part, err)
		}
	}
	// Also between two attempts.
	_, ref := serveCatalog(t, regtest.Fail(http.StatusInternalServerError, "3600"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c := newClient(t, registry.Options{Retry: registry.Retry{Max: 5, MinWait: time.Hour, MaxWait: 2 * time.Hour}})
	if _, err := readCatalog(ctx, t, c, ref); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while waiting: %v", err)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	f, ref := serveCatalog(t)
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	c := newClient(t, registry.Options{CacheDir: dir})
	if _, err := readCatalog(t.Context(), t, c, ref); err != nil {
		t.Fatal(err)
	}
	a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.Requests())
	fresh := newClient(t, registry.Options{CacheDir: dir})
	if got, err := readCatalog(t.Context(), t, fresh, a.Pinned().String()); err != nil || got != catalogYAML {
		t.Errorf("pinned, from the cache: %q, %v", got, err)
	}
	if n := len(f.Requests()) - before; n != 0 {
		t.Errorf("pinned content in the cache took %d requests", n)
	}
	for _, damage := range []string{"", catalogYAML[:10], strings.Replace(catalogYAML, "a", "b", 1), strings.Repeat("x", 1<<20)} {
		path := filepath.Join(dir, "blobs", "sha256", a.Files[0].Digest.Encoded())
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readCatalog(t.Context(), t, fresh, ref); err != nil || got != catalogYAML {
			t.Errorf("after damage %.10q: %q, %v", damage, got, err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != catalogYAML {
			t.Errorf("after damage %.10q the cache holds %.20q, %v", damage, data, err)
		}
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, ref := serveCatalog(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, registry.Options{CacheDir: file})
	if got, err := readCatalog(t.Context(), t, c, ref); err != nil || got != catalogYAML {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestLimits checks that a program may be large and decoded content may not, at every kind of
// place.
func TestLimits(t *testing.T) {
	t.Parallel()
	largeFiles := newClient(t, registry.Options{Limits: registry.Limits{File: 10_000, Blob: 100}})
	largeBlobs := newClient(t, registry.Options{Limits: registry.Limits{File: 100, Blob: 10_000}})
	for _, r := range []mediatypes.Role{mediatypes.RoleCatalog, mediatypes.RoleDefinition, mediatypes.RoleStarlark, mediatypes.RoleExec} {
		good, bad := largeFiles, largeBlobs
		if r == mediatypes.RoleExec {
			good, bad = bad, good
		}
		b := registry.Bundle{Role: r, Files: []registry.File{{Title: "f", Data: []byte(strings.Repeat("x", 1000))}}}
		for want, refs := range everywhere(t, b) {
			for _, ref := range refs {
				if err := readFirst(t, good, ref, want); err != nil {
					t.Errorf("%s as %q: %v", ref, want, err)
				}
				if err := readFirst(t, bad, ref, want); !isA[*registry.TooLargeError](err) {
					t.Errorf("%s as %q: %v, want a *TooLargeError", ref, want, err)
				}
			}
		}
		ref := mustParse(t, "oci-layout://"+filepath.Join(t.TempDir(), "l"))
		if _, err := bad.Push(t.Context(), ref, b); !isA[*registry.TooLargeError](err) {
			t.Errorf("pushing a %s: %v", r, err)
		}
	}
	_, ref := serveCatalog(t)
	if _, err := readCatalog(t.Context(), t, newClient(t, registry.Options{Limits: registry.Limits{Manifest: 100}}), ref); !isA[*registry.TooLargeError](err) {
		t.Errorf("manifest: %v", err)
	}
}

// everywhere writes a bundle of one file to a place of each kind, and returns the places by wanted
// role.
func everywhere(t *testing.T, b registry.Bundle) map[mediatypes.Role][]string {
	t.Helper()
	f, dir, data := regtest.Serve(t), t.TempDir(), b.Files[0].Data
	sum := f.Blob(data)
	f.Manifest(ocispec.MediaTypeImageManifest, orasManifest(t, "f", b.Role.Layer(), data), "v1")
	file, layout := filepath.Join(dir, "file"), "oci-layout://"+filepath.Join(dir, "layout")+":v1"
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, registry.Options{}).Push(t.Context(), mustParse(t, layout), b); err != nil {
		t.Fatal(err)
	}
	artifacts := []string{"oci://" + f.Host + "/a:v1", layout}
	return map[mediatypes.Role][]string{
		b.Role:                 append(artifacts, f.URL+"/blobs/"+sum.String(), file),
		mediatypes.RoleUnknown: artifacts,
	}
}

func readFirst(t *testing.T, c *registry.Client, ref string, want mediatypes.Role) error {
	t.Helper()
	a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{Role: want})
	if err != nil {
		return err
	}
	_, err = a.ReadFile(t.Context(), 0)
	return err
}
