package files_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: on a full disk, and on one that is mounted read-only, nothing changes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("NOT TESTED: a file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	for _, name := range []string{"change", "other"} {
		write(t, filepath.Join(dir, name+".yaml"), cm(name, "old"))
	}
	tree := read(t, dir)
	items := tree.Items()
	for _, item := range items {
		item.SetDataMap(map[string]string{"a": strings.Repeat("x", 20<<10)})
	}
	c := change(t, tree, items)
	write(t, filepath.Join(dir, "filler"), strings.Repeat("x", 28<<10))
	before := contents(t, dir)
	if err := c.Apply(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got := contents(t, dir); !maps.Equal(got, before) {
		t.Errorf("got %v", got)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context()); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "nothing can be written to") {
		t.Errorf("got %v", err)
	}
	if got := contents(t, dir); !maps.Equal(got, before) {
		t.Errorf("got %v", got)
	}
	if err := os.Chmod(dir, 0o755); err == nil {
		t.Error("it is not mounted read-only")
	}
}
