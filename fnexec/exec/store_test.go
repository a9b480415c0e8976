package exec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
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

// TestWithoutCache checks that a program runs repeatedly without a cache, and leaves no files.
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
		"a directory in its place": func(t *testing.T) string {
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

// file makes a file and its directories.
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

// TestNowhereToPutIt checks the error if no program can be started from memory, and there is no
// place for a copy.
func TestNowhereToPutIt(t *testing.T) {
	t.Parallel()
	o := exec.Options{TempDir: file(t, filepath.Join(t.TempDir(), "f"))}
	p, err := exec.New(o).Prepare(node(t, "{bin: fn, uri: 'https://example.com/fn'}"), fnexec.Site{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := load(t, p, sandbox.Allow{Confine: sandbox.ConfineOff, On: sandbox.NewHost(sandbox.HostOptions{Whole: true})}, program(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true})
	if err == nil || !strings.Contains(err.Error(), "there is no place for the program: no temporary directory can be made in ") {
		t.Errorf("got %v", err)
	}
}

// TestExchanged checks that the hashed content runs, whatever happens to the cached file: it is
// replaced, rewritten, a link, a pipe, or removed.
func TestExchanged(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the other program is a shell script")
	}
	self := program(t)
	sum := digest.FromBytes(self)
	evil := []byte("#!/bin/sh\necho evil\nexit 1\n")
	for name, exchange := range map[string]func(at, other string) error{
		"replaced by another file": func(at, other string) error { return os.Rename(other, at) },
		"other content": func(at, _ string) error {
			return errors.Join(os.Chmod(at, 0o755), filetest.WriteProgram(at, evil))
		},
		"a link": func(at, other string) error { return errors.Join(os.Remove(at), os.Symlink(other, at)) },
		"another directory": func(at, other string) error {
			dir := filepath.Dir(at)
			return errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o700), os.Rename(other, at))
		},
		"nothing": func(at, _ string) error { return os.RemoveAll(filepath.Dir(at)) },
	} {
		for _, again := range []bool{false, true} { // fetched, and from the cache
			t.Run(fmt.Sprintf("%s, again: %v", name, again), func(t *testing.T) {
				t.Parallel()
				cache := filepath.Join(t.TempDir(), "cache")
				at := filepath.Join(cache, "exec", "sha256", sum.Encoded(), "fn")
				other := filepath.Join(t.TempDir(), "evil")
				if err := filetest.WriteProgram(other, evil); err != nil {
					t.Fatal(err)
				}
				if again {
					withOptions(t, exec.Options{CacheDir: cache}, self)
				}
				r := withOptions(t, exec.Options{CacheDir: cache}, self)
				if err := exchange(at, other); err != nil {
					t.Fatal(err)
				}
				if _, err := fnexec.Call(t.Context(), r, fnexec.Input{NeedsOutput: true}); err != nil {
					t.Errorf("the wrong program ran, or none: %v", err)
				}
			})
		}
	}
}

// TestToldOfOnce checks that a changed program in the cache is not run, is reported once, and is
// replaced.
func TestToldOfOnce(t *testing.T) {
	t.Parallel()
	self := program(t)
	cache := filepath.Join(t.TempDir(), "cache")
	at := filepath.Join(cache, "exec", "sha256", digest.FromBytes(self).Encoded(), "fn")
	warned := ""
	o := exec.Options{CacheDir: cache, Warn: func(text string) { warned += text }}
	withOptions(t, o, self)
	if err := errors.Join(os.Chmod(at, 0o755), os.WriteFile(at, []byte("evil"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := fnexec.Call(t.Context(), withOptions(t, o, self), fnexec.Input{NeedsOutput: true}); err != nil {
			t.Error(err)
		}
	}
	if want := at + " in the cache was changed: the program is read from its source again"; warned != want {
		t.Errorf("warned: %q, want %q", warned, want)
	}
}

// TestForeignCache checks that a cache that other users can write to, or that leads elsewhere,
// is not used.
func TestForeignCache(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("owners and modes are those of Unix")
	}
	const stranger = 54321
	self := program(t)
	sum := digest.FromBytes(self)
	for name, tc := range map[string]struct {
		root   bool
		lay    func(top string) error
		refuse string
	}{
		"below a world-writable directory":  {false, func(top string) error { return os.Chmod(top, 0o777) }, "can be written to by others"},
		"below a sticky directory":          {false, func(top string) error { return os.Chmod(top, 0o777|os.ModeSticky) }, ""},
		"below a directory of another user": {true, func(top string) error { return os.Chown(top, stranger, -1) }, "belongs to user 54321"},
		"directory of another user": {true, func(top string) error {
			cache := filepath.Join(top, "cache")
			return errors.Join(os.Mkdir(cache, 0o755), os.Chown(cache, stranger, -1))
		}, "belongs to user 54321"},
		"program of another user": {true, func(top string) error {
			at := filepath.Join(top, "cache", "exec", "sha256", sum.Encoded(), "fn")
			return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), filetest.WriteProgram(at, self), os.Chown(at, stranger, -1))
		}, "belongs to user 54321"},
		"a link of this user": {false, func(top string) error {
			return errors.Join(os.Mkdir(filepath.Join(top, "real"), 0o700), os.Symlink("real", filepath.Join(top, "cache")))
		}, ""},
		"a link of another user": {true, func(top string) error {
			link := filepath.Join(top, "cache")
			return errors.Join(os.Mkdir(filepath.Join(top, "real"), 0o700), os.Symlink("real", link), os.Lchown(link, stranger, -1))
		}, "belongs to user 54321"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.root && os.Geteuid() != 0 {
				enginetest.Missing(t, "only root can give a file away")
			}
			top := filepath.Join(t.TempDir(), "top")
			above := filepath.Dir(top)
			if err := errors.Join(os.Chmod(filepath.Dir(above), 0o755), os.Chmod(above, 0o755), os.Mkdir(top, 0o755), os.Chmod(top, 0o755), tc.lay(top)); err != nil {
				t.Fatal(err)
			}
			_, err := fromCatalog(t, filepath.Join(top, "cache"), "fn", sum, self)
			var foreign *cachedir.ForeignError
			if tc.refuse == "" && err != nil || tc.refuse != "" && (!errors.As(err, &foreign) || !strings.Contains(err.Error(), tc.refuse)) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}
