package exec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/sandbox"
)

// withOptions loads this test binary as a catalog's function that echoes.
func withOptions(t *testing.T, o exec.Options, data []byte) fnexec.Runner {
	t.Helper()
	spec := "{bin: fn, uri: 'https://example.com/fn', sha256: " + digest.FromBytes(data).Encoded() + ", args: [" + asFunction + ", echo]}"
	p, err := exec.New(o).Prepare(node(t, spec), fnexec.Site{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := load(t, p, sandbox.Allow{}, data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWithoutCache: a program runs where there is no cache to put it into, as often as it
// is called, and leaves nothing behind.
func TestWithoutCache(t *testing.T) {
	t.Parallel()
	self := program(t)
	sum := digest.FromBytes(self).Encoded()
	for name, prepare := range map[string]func(t *testing.T) (cache string){
		"none":     func(*testing.T) string { return "" },
		"relative": func(*testing.T) string { return "cache" },
		"a file": func(t *testing.T) string {
			t.Helper()
			return file(t, filepath.Join(t.TempDir(), "cache"))
		},
		"read-only": func(t *testing.T) string {
			t.Helper()
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"its place is taken": func(t *testing.T) string {
			t.Helper()
			dir := t.TempDir()
			file(t, filepath.Join(dir, "exec", "sha256", sum, "fn", "x"))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			r := withOptions(t, exec.Options{CacheDir: prepare(t), TempDir: temp}, self)
			for range 2 {
				if _, err := fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true}); err != nil {
					t.Error(err)
				}
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if _, err := os.Lstat("cache"); err == nil {
				t.Error("there is a cache in the working directory")
			}
		})
	}
}

// file makes a file, and the directories that it is in.
func file(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDirectoryInTheCacheIsMended(t *testing.T) {
	t.Parallel()
	self := program(t)
	cache := t.TempDir()
	at := filepath.Join(cache, "exec", "sha256", digest.FromBytes(self).Encoded(), "fn")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	r := withOptions(t, exec.Options{CacheDir: cache}, self)
	if _, err := fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true}); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
		t.Errorf("got %v, %v", info, err)
	}
}

// TestNowhereToPutIt says both why the cache and why the other place cannot be used.
func TestNowhereToPutIt(t *testing.T) {
	t.Parallel()
	r := withOptions(t, exec.Options{TempDir: file(t, filepath.Join(t.TempDir(), "f"))}, program(t))
	_, err := fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true})
	if err == nil || !strings.Contains(err.Error(), "no cache directory") || !strings.Contains(err.Error(), "no temporary directory can be made in ") {
		t.Errorf("got %v", err)
	}
}
