package registry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// writeHelper writes a credential helper to a directory of its own.
func writeHelper(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := filetest.WriteProgram(filepath.Join(dir, "docker-credential-"+name), []byte("#!/bin/sh\n"+script)); err != nil {
		t.Fatal(err)
	}
}

// TestCredentialHelpers changes PATH, so it does not run in parallel.
func TestCredentialHelpers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helpers are shell scripts")
	}
	reg := regtest.Start(t, regtest.Options{Logins: true})
	path := t.TempDir()
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	writeHelper(t, path, "good", fmt.Sprintf("read host; [ \"$host\" = %s ] && printf '{\"Username\":%q,\"Secret\":%q}'", reg.Host, regtest.User, regtest.Password))
	writeHelper(t, path, "none", "echo credentials not found in native keychain; exit 1")
	writeHelper(t, path, "broken", "echo no; exit 1")
	good := filepath.Join(regtest.DockerConfig(t, reg.Host), "config.json")
	for name, c := range map[string]struct {
		config map[string]any
		files  []string
		want   string // "" for success
	}{
		"a store":               {map[string]any{"credsStore": "good"}, nil, ""},
		"a helper for the host": {map[string]any{"credsStore": "broken", "credHelpers": map[string]string{reg.Host: "good"}}, nil, ""},
		"a store without it":    {map[string]any{"credsStore": "none"}, nil, "not authorised"},
		"then another file":     {map[string]any{"credsStore": "none"}, []string{good}, ""},
		"a broken one":          {map[string]any{"credsStore": "broken"}, nil, "looking up the credentials"},
		"broken, another file":  {map[string]any{"credsStore": "broken"}, []string{good}, ""},
		"one that is missing":   {map[string]any{"credsStore": "absent"}, nil, "docker-credential-absent"},
	} {
		dir := t.TempDir()
		data, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		client := newClient(t, registry.Options{DockerConfigDir: dir, AuthFiles: c.files})
		_, err = client.Push(t.Context(), mustParse(t, "oci://"+reg.Host+"/a:v1"), bundles()["catalog"])
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!isA[*registry.UnreachableError](err) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// bearer issues a token for User and requires it.
func bearer(realm func() string) regtest.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			switch {
			case r.URL.Path == "/token" && user == regtest.User:
				fmt.Fprint(w, `{"token":"let-me-in"}`)
			case r.URL.Path == "/token":
				w.WriteHeader(http.StatusUnauthorized)
			case r.Header.Get("Authorization") != "Bearer let-me-in":
				w.Header().Set("Www-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="tests"`, realm()))
				w.WriteHeader(http.StatusUnauthorized)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	var f *regtest.Fake
	f = regtest.Serve(t, bearer(func() string { return f.URL }))
	fillCatalog(t, f)
	ref := "oci://" + f.Host + "/a:v1"
	if _, err := readCatalog(t.Context(), t, newClient(t, registry.Options{}), ref); !isA[*registry.UnreachableError](err) {
		t.Errorf("without a login: %v", err)
	}
	c := newClient(t, registry.Options{DockerConfigDir: regtest.DockerConfig(t, f.Host)})
	if got, err := readCatalog(t.Context(), t, c, ref); err != nil || got != catalogYAML {
		t.Errorf("with a login: %q, %v", got, err)
	}
	// A registry must not have the credentials sent to a private network.
	var lured *regtest.Fake
	trap := regtest.Serve(t)
	lured = regtest.Serve(t, bearer(func() string { return strings.Replace(trap.URL, "127.0.0.1", "127.0.0.2", 1) }))
	c = newClient(t, registry.Options{DockerConfigDir: regtest.DockerConfig(t, lured.Host)})
	if _, err := readCatalog(t.Context(), t, c, "oci://"+lured.Host+"/a:v1"); !isA[*registry.UnreachableError](err) {
		t.Errorf("lured: %v", err)
	}
	if n := len(trap.Requests()); n != 0 {
		t.Errorf("the trap was asked %d times", n)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ca := range []string{file, file + "-missing"} {
		if _, err := registry.New(registry.Options{CAFile: ca}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", ca, err)
		}
	}
}

// TestPinnedHTTPSNeedsNoNetwork checks that pinned content in the cache is not requested.
func TestPinnedHTTPSNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	f := regtest.Serve(t)
	d := f.Blob([]byte(catalogYAML))
	ref := f.URL + "/blobs/" + d.String() + "@" + d.String()
	dir := t.TempDir()
	for range 2 {
		c := newClient(t, registry.Options{CacheDir: dir})
		if got, err := readCatalog(t.Context(), t, c, ref); err != nil || got != catalogYAML {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if n := len(f.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestLeftoversAreSwept checks that temporary files of old processes are removed and others stay. A
// layout has a lock, so its temporary files are all old.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cache, out, layout := filepath.Join(root, "cache"), filepath.Join(root, "out"), filepath.Join(root, "layout")
	long := time.Now().Add(-72 * time.Hour)
	for _, dir := range []string{filepath.Join(cache, "ingest"), out, layout} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{".krmcat-tmp-old", ".krmcat-tmp-new", ".other"} {
			if dir == layout && name == ".other" {
				continue // it would not be a layout
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{".krmcat-tmp-old", ".other"} {
			_ = os.Chtimes(filepath.Join(dir, name), long, long)
		}
	}
	_, ref := serveCatalog(t)
	c := newClient(t, registry.Options{CacheDir: cache})
	a, err := c.Resolve(t.Context(), mustParse(t, ref), registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), a, out); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), mustParse(t, "oci-layout://"+layout), bundles()["catalog"]); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(cache, "ingest"), out, layout} {
		if _, err := os.Stat(filepath.Join(dir, ".krmcat-tmp-old")); err == nil {
			t.Errorf("%s: the old one is still there", dir)
		}
		if _, err := os.Stat(filepath.Join(dir, ".krmcat-tmp-new")); (err == nil) != (dir != layout) {
			t.Errorf("%s: the new one: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, ".other")); err != nil {
		t.Error("a stranger's file is gone")
	}
}
