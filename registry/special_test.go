//go:build unix

package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// TestLockInTheWay checks that anything but a plain file in place of krmcat's lock is an error at
// once, because the layout may come from a third party.
func TestLockInTheWay(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "made")
	for name, put := range map[string]func(path string) error{
		"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link": func(path string) error { return os.Symlink(outside, path) },
	} {
		dir, _ := pushedLayout(t)
		lock := filepath.Join(dir, ".krmcat-lock")
		if err := errors.Join(os.Remove(lock), put(lock)); err != nil {
			t.Fatal(err)
		}
		_, err := newClient(t, registry.Options{}).Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v2"), bundles()["catalog"])
		if !isA[*ownfile.InTheWayError](err) || !strings.Contains(err.Error(), lock+" is "+name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a lock was made where a link leads")
	}
}

// TestNoPlainFile checks that anything but a plain file is an error at once: reading a pipe would
// block.
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
		l, err := reference.Parse(pipe)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resolve(t.Context(), l, registry.Want{Role: role}); err == nil || !strings.Contains(err.Error(), "it is a pipe, not a file") {
			t.Errorf("%s: %v", role, err)
		}
	}
}
