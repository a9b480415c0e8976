package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteFilesAllOrNone interrupts the writing of files at each step. Either all or none of the
// old files are replaced, and no temporary files stay.
func TestWriteFilesAllOrNone(t *testing.T) {
	t.Parallel()
	files := []outputFile{{"a.yaml", []byte("new a")}, {"b.yaml", []byte("new b")}, {"c.yaml", []byte("new c")}}
	earlier, later := map[string]string{"a.yaml": "old a", "b.yaml": "old b"}, map[string]string{"a.yaml": "new a", "b.yaml": "new b", "c.yaml": "new c"}
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
	files := []outputFile{{"a.yaml", nil}, {filepath.Join("none", "b.yaml"), nil}}
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

// readAll reads the files of a directory, by name.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}
