package registry_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// writeLogins writes a config.json with credentials for every key, with its value as the user, and
// returns its directory.
func writeLogins(t *testing.T, users map[string]string) string {
	t.Helper()
	auths := map[string]any{}
	for key, user := range users {
		auths[key] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":hush"))}
		if user == "" {
			auths[key] = map[string]string{} // what a credential helper leaves behind
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), toJSON(t, map[string]any{"auths": auths}), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// askWho requires credentials, accepts any, and records the users.
func askWho(users *[]string) regtest.Middleware {
	var mu sync.Mutex
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, _, ok := r.BasicAuth()
			if !ok {
				w.Header().Set("Www-Authenticate", `Basic realm="tests"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			mu.Lock()
			*users = append(*users, user)
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}
}

// TestLoginsStayInTheirNamespace checks which user a registry sees, "" for none.
func TestLoginsStayInTheirNamespace(t *testing.T) {
	t.Parallel()
	const host, docker = "oci://quay.example.com/", "oci://docker.io/"
	for name, c := range map[string]struct {
		ref   string
		users map[string]string
		want  string
	}{
		"another team":           {host + "team-b/x", map[string]string{"quay.example.com/team-a": "a"}, ""},
		"two other teams":        {host + "team-c/x", map[string]string{"quay.example.com/team-a": "a", "quay.example.com/team-b": "b"}, ""},
		"a longer name":          {host + "team-ab/x", map[string]string{"quay.example.com/team-a": "a"}, ""},
		"its team":               {host + "team-a/x", map[string]string{"quay.example.com/team-a": "a", "quay.example.com/team-b": "b"}, "a"},
		"the longest":            {host + "a/b/x", map[string]string{"quay.example.com/a": "a", "quay.example.com/a/b": "b", "quay.example.com": "h"}, "b"},
		"itself":                 {host + "a/b/x", map[string]string{"quay.example.com/a/b/x": "x", "quay.example.com/a/b": "b"}, "x"},
		"the host behind a team": {host + "team-b/x", map[string]string{"quay.example.com/team-a": "a", "quay.example.com": "h"}, "h"},
		"an address of old":      {host + "x", map[string]string{"quay.example.com/team-a": "a", "https://quay.example.com/v1/": "h"}, "h"},
		"an address":             {host + "x", map[string]string{"https://quay.example.com": "h"}, "h"},
		"an address with a team": {host + "x", map[string]string{"https://quay.example.com/team-a": "a"}, ""},
		"a team called v2":       {host + "x", map[string]string{"quay.example.com/v2": "a"}, ""},
		"two spellings":          {host + "x", map[string]string{"https://quay.example.com": "s", "http://quay.example.com/v1/": "p", "quay.example.com": "h"}, "h"},
		"two old spellings":      {host + "x", map[string]string{"https://quay.example.com": "s", "http://quay.example.com/v1/": "p"}, "p"},
		"an empty entry":         {host + "team/x", map[string]string{"quay.example.com/team": "", "quay.example.com": "h"}, "h"},
		"another host":           {host + "x", map[string]string{"quay.example.com:443": "a", "example.com": "b", "a.quay.example.com": "c"}, ""},
		"docker's address":       {docker + "team/x", map[string]string{"https://index.docker.io/v1/": "d"}, "d"},
		"docker's name":          {docker + "team/x", map[string]string{"docker.io": "d"}, "d"},
		"docker's old name":      {docker + "team/x", map[string]string{"index.docker.io": "d"}, "d"},
		"docker's team":          {docker + "team/x", map[string]string{"docker.io/team": "t", "https://index.docker.io/v1/": "d"}, "t"},
		"docker's other team":    {docker + "team/x", map[string]string{"docker.io/other": "t"}, ""},
	} {
		dir := writeLogins(t, c.users)
		for kind, o := range map[string]registry.Options{
			"docker": {DockerConfigDir: dir}, "podman": {AuthFiles: []string{filepath.Join(dir, "config.json")}},
		} {
			var seen []string
			f := regtest.Serve(t, askWho(&seen))
			fillCatalog(t, f)
			o.PlainHTTP, o.Proxy = true, throughProxy(t, f)
			_, err := readCatalog(t.Context(), t, newClient(t, o), c.ref+":v1")
			if (err == nil) != (c.want != "") || strings.Trim(strings.Join(seen, ""), c.want) != "" {
				t.Errorf("%s, %s: %v, seen were %q, want %q", kind, name, err, seen, c.want)
			}
		}
	}
}

// TestOddLoginFiles checks which files are ignored, and that no error shows their content.
func TestOddLoginFiles(t *testing.T) {
	t.Parallel()
	var seen []string
	f := regtest.Serve(t, askWho(&seen))
	fillCatalog(t, f)
	good := filepath.Join(writeLogins(t, map[string]string{f.Host: "good"}), "config.json")
	for text, complaint := range map[string]string{
		"":                                  "",
		" \n":                               "",
		"{}":                                "",
		`{"auths": null}`:                   "",
		`{"auths": {"` + f.Host + `": {}}}`: "",
		`{"auths": {"` + f.Host + `": {"auth": "aHVzaA=="}}}`: "malformed",
		`{"auths": {"` + f.Host + `": "hush"}}`:               "malformed",
		`{"auths": ["hush"]}`:                                 "cannot be read: auths must not be a JSON array",
		"hush":                                                "cannot be read: invalid",
		`{"auths": {"x": "` + strings.Repeat("hush", 2<<20) + `"}`: "larger than what is read",
	} {
		path := filepath.Join(t.TempDir(), "auth.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readCatalog(t.Context(), t, newClient(t, registry.Options{AuthFiles: []string{path}}), "oci://"+f.Host+"/a:v1")
		if isA[*registry.UnreachableError](err) != (complaint == "") || isA[*registry.LoginFileError](err) != (complaint != "") || !strings.Contains(err.Error(), complaint) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%.60s: %v, want %q", text, err, complaint)
		}
		c := newClient(t, registry.Options{AuthFiles: []string{path, path + "-missing", good}})
		if _, err := readCatalog(t.Context(), t, c, "oci://"+f.Host+"/a:v1"); err != nil {
			t.Errorf("%.60s and a good one: %v", text, err)
		}
	}
}
