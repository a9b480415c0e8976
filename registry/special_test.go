//go:build unix

package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestBlobsElsewhere checks that no blob is written where a link in a layout leads, because the
// layout may come from a third party. A link inside of it is followed, and such a layout is read.
func TestBlobsElsewhere(t *testing.T) {
	t.Parallel()
	for name, way := range map[string][2]string{
		"all blobs": {"blobs", ""}, "those of an algorithm": {"blobs/sha256", ""}, "inside": {"blobs/sha256", "kept"},
	} {
		dir, _ := pushedLayout(t)
		at, to := filepath.Join(dir, way[0]), filepath.Join(t.TempDir(), "kept")
		if way[1] != "" {
			to = filepath.Join(dir, way[1])
		}
		if err := errors.Join(os.Rename(at, to), os.Symlink(to, at)); err != nil {
			t.Fatal(err)
		}
		was := filesBelow(t, to)
		c := newClient(t, registry.Options{})
		_, err := c.Push(t.Context(), mustParse(t, "oci-layout://"+dir+":v2"), bundles()["definition"])
		if way[1] != "" {
			if err != nil || len(filesBelow(t, to)) == len(was) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if !isA[*ownfile.InTheWayError](err) || !strings.Contains(err.Error(), at+" is a link") || !slices.Equal(filesBelow(t, to), was) {
			t.Errorf("%s: got %v", name, err)
		}
		a, err := c.Resolve(t.Context(), mustParse(t, "oci-layout://"+dir+":v1"), registry.Want{})
		if err != nil {
			t.Fatalf("%s: reading: %v", name, err)
		}
		if _, err := c.Attach(t.Context(), mustParse(t, "oci-layout://"+dir), a.Root, signatureOf(a.Root.Digest, "payload", "a")); !isA[*ownfile.InTheWayError](err) {
			t.Errorf("%s: attaching: got %v", name, err)
		}
	}
}

// filesBelow returns the paths of all files below a directory.
func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
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
