package filetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Unpack writes the files of an archive into a new directory of the test, and returns its real
// path. A file named X -> Y is a symbolic link. A file that begins with #! is executable.
func Unpack(t testing.TB, files []txtar.File) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := write(dir, f); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(dir string, f txtar.File) error {
	name, link, isLink := strings.Cut(f.Name, " -> ")
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if isLink {
		return os.Symlink(link, path)
	}
	if strings.HasPrefix(string(f.Data), "#!") {
		return WriteProgram(path, f.Data)
	}
	return os.WriteFile(path, f.Data, 0o644)
}

// OpenDir makes a directory that everybody can write to, as /tmp, in a given place. If that fails
// it makes one in the test's own directory.
func OpenDir(t testing.TB, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "krmcat-") //nolint:usetesting // other users cannot read the test's own directory
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const everybody = 0o777
	if err := os.Chmod(dir, everybody|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}
