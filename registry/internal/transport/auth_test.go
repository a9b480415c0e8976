package transport

import (
	"os"
	"path/filepath"
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
