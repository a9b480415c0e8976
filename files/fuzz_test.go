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

// FuzzRecover: no journal makes recovering panic, and none that was not made here changes a file.
func FuzzRecover(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"version": 1}`, `{"version": 1, "place": "1:2", "ops": [{"path": "a.yaml", "before": "", "after": ""}]}`,
		`{"version": 1, "ops": [{"path": "../a.yaml"}], "dirs": [".."]}`, `{"version": 1, "ops": [{"path": "/etc/passwd"}]}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.yaml"), cm("a", "b"))
		if err := os.Mkdir(filepath.Join(dir, ".krmcat-change"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".krmcat-change/journal"), string(data))
		write(t, filepath.Join(dir, ".krmcat-change/old-0"), cm("a", "evil"))
		if _, err := files.Recover(t.Context(), dir); err == nil {
			t.Errorf("%q is trusted", data)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a.yaml")); err != nil || string(got) != cm("a", "b") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
