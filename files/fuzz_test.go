//go:build unix

package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/krmcat/krmcat/files"
)

// FuzzRead: no bytes in a file make reading panic, and what can be read stays as it is.
func FuzzRead(f *testing.F) {
	list, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range list {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			f.Add(file.Data, filepath.Ext(file.Name) == ".json")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		dir, name := t.TempDir(), "a.yaml"
		if json {
			name = "a.json"
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		tree, err := files.Read(t.Context(), dir, files.Options{})
		if err != nil {
			return
		}
		bare := tree.Items()
		for _, item := range bare {
			uncomment(item.YNode())
		}
		c, err := tree.Change(bare)
		if err != nil {
			t.Fatal(err)
		}
		if diff := c.Diff(); diff != "" {
			t.Errorf("%q changes:\n%s", data, diff)
		}
	})
}

// FuzzIgnore: no .krmignore makes reading panic.
func FuzzIgnore(f *testing.F) {
	for _, seed := range []string{"a.yaml", "!", "/", "*", "[", "\\#x\r\n#", "a/**/b", "!/\n//"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".krmignore"), string(data))
		write(t, filepath.Join(dir, "sub/a.yaml"), cm("a", "b"))
		tree, err := files.Read(t.Context(), dir, files.Options{})
		if err == nil && len(tree.Items()) > 1 {
			t.Error("more than there is")
		}
	})
}
