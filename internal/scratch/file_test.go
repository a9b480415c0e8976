package scratch_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/scratch"
)

// TestFile: a file is there as a whole, with its mode, in the place of what had its path, and
// nothing is left beside it.
func TestFile(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	path, precious := filepath.Join(dir, "f"), filepath.Join(other, "precious")
	if err := os.WriteFile(precious, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(precious, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		in   string
		mode os.FileMode
	}{{"", 0o666}, {dir, 0o755}, {"", 0o555}} {
		if err := (scratch.File{Path: path, Mode: c.mode, In: c.in}).Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != c.mode {
			t.Errorf("%v: got %v, %v", c.mode, info, err)
		}
		if data, err := os.ReadFile(path); string(data) != "new" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		if runtime.GOOS == "windows" {
			break // which replaces no file that is read-only
		}
	}
	if data, err := os.ReadFile(precious); string(data) != "kept" || err != nil {
		t.Errorf("what a link leads to: %q, %v", data, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "d", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (scratch.File{Path: filepath.Join(dir, "d"), Mode: 0o600}).Write(nil); err == nil {
		t.Error("a directory was replaced")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestSweepFiles removes what was being written, and nothing else.
func TestSweepFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, err := scratch.File{In: dir, Mode: 0o600}.Stage(nil)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * scratch.Stale)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	young, err := scratch.File{In: dir, Mode: 0o600}.Stage(nil)
	if err != nil {
		t.Fatal(err)
	}
	mine, named := filepath.Join(dir, "mine"), filepath.Join(dir, scratch.TempPrefix+"dir")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(named, 0o700); err != nil {
		t.Fatal(err)
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	scratch.SweepFiles(dir, scratch.Stale)
	if there(old) || !there(young) {
		t.Errorf("old %v, young %v", there(old), there(young))
	}
	scratch.SweepFiles(dir, 0)
	if there(young) || !there(mine) || !there(named) {
		t.Errorf("young %v, mine %v, a directory %v", there(young), there(mine), there(named))
	}
	scratch.SweepFiles(filepath.Join(dir, "none"), 0)
}
