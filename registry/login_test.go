//go:build unix

package registry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/krmcat/krmcat/registry"
)

// TestLoginThroughALink: config.json may be a link of the user's own. One in a directory where
// others can write is replaced, and nothing is written where it leads.
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

// TestLoginsAtOnce: of several logins at once none is lost, and neither is a logout.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t, registry.Options{DockerConfigDir: filepath.Join(t.TempDir(), "docker")})
	var hosts []string
	for range 12 {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(server.Close)
		hosts = append(hosts, strings.TrimPrefix(server.URL, "http://"))
	}
	each := func(f func(host string) error) {
		var wg sync.WaitGroup
		for _, host := range hosts {
			wg.Go(func() {
				if err := f(host); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	each(func(host string) error {
		_, err := c.Login(t.Context(), host, registry.Credentials{Username: "u", Password: "p"})
		return err
	})
	each(func(host string) error {
		was, _, err := c.Logout(t.Context(), host)
		if err == nil && !was {
			err = errors.New("the login for " + host + " was lost")
		}
		return err
	})
	for _, host := range hosts {
		if was, _, err := c.Logout(t.Context(), host); err != nil || was {
			t.Errorf("%s is still logged in, or %v", host, err)
		}
	}
}
