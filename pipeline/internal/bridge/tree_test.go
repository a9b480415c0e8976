package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// TestReadFileFollowsAgain replaces a file by a symbolic link after kustomize has checked that the
// file may be read: once the file itself, and once its directory.
func TestReadFileFollowsAgain(t *testing.T) {
	t.Parallel()
	for _, replaced := range []string{"in/sub/file", "in/sub"} {
		at, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"in/sub/file", "out/file"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		root := filepath.Join(at, "in")
		o := NewTree(filesys.MakeFsOnDisk())
		o.Roots = map[string]bool{root: true}
		dir, name, err := o.CleanedAbs(filepath.Join(root, "sub", "file"))
		if err != nil {
			t.Fatal(err)
		}
		file := dir.Join(name)
		if text, err := o.ReadFile(file); err != nil || string(text) != "in/sub/file" {
			t.Fatalf("before: %q, %v", text, err)
		}
		linked := filepath.Join(at, "out")
		if replaced == "in/sub/file" {
			linked = filepath.Join(linked, "file")
		}
		if err := os.RemoveAll(filepath.Join(at, replaced)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(linked, filepath.Join(at, replaced)); err != nil {
			t.Fatal(err)
		}
		text, err := o.ReadFile(file)
		var no *disk.RestrictedError
		if !errors.As(err, &no) || o.refused() == nil {
			t.Errorf("%s replaced by a link: read %q, %v", replaced, text, err)
		}
	}
}
