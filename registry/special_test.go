//go:build unix

package registry_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// TestNoPlainFile is told at once, of everything that is read from this machine's disk: a
// pipe would have us wait for ever.
func TestNoPlainFile(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.New(registry.Options{CAFile: pipe}); err == nil || !strings.Contains(err.Error(), "it is a pipe, not a file") {
		t.Errorf("certificates: %v", err)
	}
	c, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []mediatypes.Role{mediatypes.RoleCatalog, mediatypes.RoleStarlark, mediatypes.RoleExec} {
		l, err := registry.Parse(pipe)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resolve(t.Context(), l, registry.Want{Role: role}); err == nil || !strings.Contains(err.Error(), "it is a pipe, not a file") {
			t.Errorf("%s: %v", role, err)
		}
	}
}
