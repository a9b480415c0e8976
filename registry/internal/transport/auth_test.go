package transport

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// TestLoginOfOneHost calls the credential function directly: oras-go calls it only for the host of
// the repository, and krmcat does not rely on that.
func TestLoginOfOneHost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.json")
	if err := os.WriteFile(path, []byte(`{"auths": {"a.example": {"username": "u", "password": "p"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := newLogins(Options{AuthFiles: []string{path}}).forRepository("a.example", "x")
	for host, want := range map[string]auth.Credential{
		"a.example": {Username: "u", Password: "p"}, "b.example": {}, "a.example:80": {}, "": {},
	} {
		if got, err := ask(t.Context(), host); err != nil || got != want {
			t.Errorf("for %q: %v, %v", host, got, err)
		}
	}
}

// TestFindLogin finds what is kept of a host, under each key by which it would be used, and nothing
// of a namespace or of another host.
func TestFindLogin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"credHelpers": {"a.example": "one"}, "credsStore": "all", "auths": {
		"a.example": {}, "https://a.example/v1/": {}, "http://a.example": {}, "a.example/ns": {}, "a.example:80": {}, "b.a.example": {},
		"https://index.docker.io/v1/": {}, "docker.io": {}, "index.docker.io": {}, "registry-1.docker.io": {}, "docker.io/ns": {}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]Kept{
		"a.example": {[]string{"a.example", "http://a.example", "https://a.example/v1/"}, "one", "a.example"},
		"c.example": {nil, "all", "c.example"},
		"registry-1.docker.io": {
			[]string{"docker.io", "https://index.docker.io/v1/", "index.docker.io", "registry-1.docker.io"}, "all", "https://index.docker.io/v1/",
		},
	} {
		got, err := FindLogin(path, host)
		if err != nil || !reflect.DeepEqual(got, want) || LoginKey(host) != want.Address {
			t.Errorf("%s: %+v, %q, %v", host, got, LoginKey(host), err)
		}
	}
}

// FuzzLogins checks that credentials are only returned for a key in the file, whatever the file
// contains.
func FuzzLogins(f *testing.F) {
	f.Add([]byte(`{"auths": {"h.example/a": {"auth": "dTpw"}, "https://h.example/v1/": {"username": "u"}}}`))
	f.Add([]byte(`{"auths": {"h.example": null}, "credHelpers": {}}`))
	f.Add([]byte(`{"Auths": {"h.example": {"auth": "x"}}}`))
	path := filepath.Join(f.TempDir(), "auth.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := readLogins(path)
		if err != nil {
			return
		}
		file.credsStore, file.credHelpers = "", nil // start no programs
		cred, err := file.lookup(t.Context(), "h.example", "a/b")
		if err != nil || cred == auth.EmptyCredential {
			return
		}
		for key := range file.auths {
			if key == "h.example/a/b" || key == "h.example/a" || bareHost(key) == "h.example" {
				return
			}
		}
		t.Fatalf("%q gave %v", data, cred)
	})
}
