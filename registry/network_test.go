package registry_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// throughProxy sends requests for every host to one fake registry.
func throughProxy(t *testing.T, f *regtest.Fake) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	return http.ProxyURL(u)
}

func TestPushThroughTrouble(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	for name, how := range map[string]regtest.Middleware{
		"500 twice":    regtest.First(2, regtest.Fail(http.StatusInternalServerError, "")),
		"429":          regtest.First(1, regtest.Fail(http.StatusTooManyRequests, "0")),
		"reset":        regtest.First(1, regtest.Reset()),
		"manifest 503": regtest.On("/manifests/", regtest.First(2, regtest.Fail(http.StatusServiceUnavailable, ""))),
		"upload 502":   regtest.On("/uploads/", regtest.First(2, regtest.Fail(http.StatusBadGateway, ""))),
	} {
		proxy := regtest.ServeProxy(t, reg, how)
		ref := "oci://" + proxy.Host + "/" + strings.ReplaceAll(name, " ", "-") + ":v1"
		c := newClient(t, registry.Options{})
		if _, err := c.Push(t.Context(), mustParse(t, ref), bundles()["catalog"]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := readCatalog(t.Context(), t, c, ref); err != nil || got != catalogYAML {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	broken := regtest.ServeProxy(t, reg, regtest.On("/manifests/", regtest.Fail(http.StatusInternalServerError, "")))
	_, err := newClient(t, registry.Options{}).Push(t.Context(), mustParse(t, "oci://"+broken.Host+"/broken:v1"), bundles()["catalog"])
	if !isA[*registry.UnreachableError](err) {
		t.Errorf("for good: %v", err)
	}
}

func TestWithoutDigestHeader(t *testing.T) {
	t.Parallel()
	_, ref := serveCatalog(t, regtest.Without("Docker-Content-Digest"))
	if got, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), ref); err != nil || got != catalogYAML {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestLocalhostIsPlain(t *testing.T) {
	t.Parallel()
	f, _ := serveCatalog(t)
	ref := "oci://" + strings.Replace(f.Host, "127.0.0.1", "localhost", 1) + "/a:v1"
	for _, o := range []registry.Options{{}, {PlainHTTP: true}, {Insecure: true}, {CAFile: writePEMOf(t)}} {
		if got, err := readCatalog(t.Context(), t, newClient(t, o), ref); err != nil || got != catalogYAML {
			t.Errorf("%+v: got %q, %v", o, got, err)
		}
	}
}

// TestChildOfIndex checks that a manifest below an index can be resolved by its own digest.
func TestChildOfIndex(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	c := newClient(t, registry.Options{})
	for _, base := range []string{"oci://" + reg.Host + "/programs", "oci-layout://" + filepath.Join(t.TempDir(), "l")} {
		if _, err := c.Push(t.Context(), mustParse(t, base+":v1"), bundles()["programs"]); err != nil {
			t.Fatal(err)
		}
		a, err := c.Resolve(t.Context(), mustParse(t, base+":v1"), registry.Want{Role: mediatypes.RoleExec, Platform: "plan9/mips"})
		if err != nil {
			t.Fatal(err)
		}
		one, err := c.Resolve(t.Context(), a.From.WithDigest(a.Manifest.Digest), registry.Want{Role: mediatypes.RoleExec})
		if err != nil || one.Root.Digest != a.Manifest.Digest || one.Files[0].Digest != a.Files[0].Digest {
			t.Errorf("%s: %+v, %v", base, one, err)
		}
	}
}

// TestUntitled checks the names of files without a title.
func TestUntitled(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{})
	for role, want := range map[mediatypes.Role]string{
		mediatypes.RoleCatalog: "catalog.yaml", mediatypes.RoleStarlark: "main.star", mediatypes.RoleExec: "function", "": "file",
	} {
		paths, err := c.Pull(t.Context(), registry.Literal(mustParse(t, "./x"), role, "", []byte("x")), t.TempDir())
		if err != nil || len(paths) != 1 || filepath.Base(paths[0]) != want {
			t.Errorf("%q: %v, %v", role, paths, err)
		}
	}
}
