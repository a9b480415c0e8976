package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteFilesAllOrNone interrupts the writing of files at each step. Either all or none of the
// old files are replaced, and no temporary files stay.
func TestWriteFilesAllOrNone(t *testing.T) {
	t.Parallel()
	files := []outputFile{{"a.yaml", []byte("new a")}, {"b.yaml", []byte("new b")}, {filepath.Join("sub", "new", "c.yaml"), []byte("new c")}}
	earlier := map[string]string{"a.yaml": "old a", "b.yaml": "old b"}
	later := map[string]string{"a.yaml": "new a", "b.yaml": "new b", "sub/": "", "sub/new/": "", "sub/new/c.yaml": "new c"}
	for moment := range len(files) + 1 {
		dir := t.TempDir()
		for name, text := range earlier {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		asked := 0
		err := (&env{}).writeFiles(dir, files, func() error {
			if asked++; asked > moment {
				return context.Canceled
			}
			return nil
		})
		want := earlier
		if moment == len(files) {
			want = later
		}
		if ended := errors.Is(err, context.Canceled); ended != (moment < len(files)) || !ended && err != nil {
			t.Errorf("at %d: got %v", moment, err)
		}
		if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
			t.Errorf("at %d: %s", moment, diff)
		}
	}
}

// TestWriteFilesThatCannotBe checks that no file is written if the last cannot be written.
func TestWriteFilesThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []outputFile{{filepath.Join("new", "a.yaml"), nil}, {filepath.Join(strings.Repeat("long", 100), "b.yaml"), nil}}
	if err := (&env{}).writeFiles(dir, files, func() error { return nil }); err == nil {
		t.Error("it was written")
	}
	if got := readAll(t, dir); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestWriteFilesThatCannotBePlaced checks that replaced files are restored if a later one cannot be
// renamed, here because a directory is in its place.
func TestWriteFilesThatCannotBePlaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []outputFile{{"a.yaml", []byte("new a")}, {"b.yaml", []byte("new b")}, {"c.yaml", []byte("new c")}, {"d.yaml", []byte("new d")}}
	earlier := map[string]string{"a.yaml": "old a", "d.yaml": "old d"}
	for name, text := range earlier {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	err := (&env{}).writeFiles(dir, files, func() error {
		if asked++; asked == len(files) {
			return os.Mkdir(filepath.Join(dir, "c.yaml"), 0o700)
		}
		return nil
	})
	if err == nil {
		t.Error("it was written")
	}
	if err := os.Remove(filepath.Join(dir, "c.yaml")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(earlier, readAll(t, dir)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "a.yaml"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

// readAll reads the files in and below a directory, by path. A directory is there as its path with a
// slash.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
		case e.IsDir():
			out[path+"/"] = ""
		default:
			var data []byte
			data, err = os.ReadFile(filepath.Join(dir, path))
			out[path] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
