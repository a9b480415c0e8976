//go:build unix

package registry_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/registry"
)

// TestLoginThroughALink: config.json may be a link of the user's own. One in a directory where others
// can write is replaced, and nothing is written where it leads.
func TestLoginThroughALink(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for mode, follows := range map[os.FileMode]bool{0o700: true, 0o777: false} {
		dir, to := t.TempDir(), filepath.Join(t.TempDir(), "linked.json")
		if err := os.WriteFile(to, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, "config.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, registry.Options{DockerConfigDir: dir})
		if _, err := c.Login(t.Context(), host, registry.Credentials{Username: "u", Password: "p"}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(to)
		if wrote := strings.Contains(string(data), host); err != nil || wrote != follows {
			t.Errorf("in a directory with mode %o: wrote to the target of the link: %v, %v", mode, wrote, err)
		}
	}
}
