//go:build unix

package image

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/regtest"
)

// amid calls a function repeatedly while an image is unpacked, until it reports that it is done.
// Only then the registry answers with the layer.
func amid(t *testing.T, layer []byte, do func() bool) regtest.Middleware {
	t.Helper()
	return regtest.On(digest.FromBytes(layer).Encoded(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for end := time.Now().Add(time.Minute); !do(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) || r.Context().Err() != nil {
					t.Error("what was waited for did not happen")
					break
				}
			}
			next.ServeHTTP(w, r)
		})
	})
}

// TestLayerExchanged checks that nothing is unpacked of a fetched layer that was changed after
// it was verified, through its path or through this process's descriptor.
func TestLayerExchanged(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: what is open is found in /proc")
	}
	good, evil := pack(t, regular("fn", "good")), pack(t, regular("fn", "evil"))
	for name, layers := range map[string][2][]byte{"plain": {good, evil}, "gzip": {zip(t, good), zip(t, evil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(cacheDir(t), bounds{})
			first := pack(t, directory("first"))
			f := regtest.Serve(t, amid(t, first, func() bool { return overwrite(s.dir, layers[0], layers[1]) }))
			got, err := s.get(t.Context(), publish(t, f, "", first, layers[0]))
			if err == nil {
				t.Errorf("unpacked: %v", listing(t, got.root))
			} else if !isA[*Error](err) {
				t.Errorf("%T %v", err, err)
			}
			clean(t, s, false)
		})
	}
}

// overwrite writes to the file with these bytes that is or was in a directory.
func overwrite(dir string, old, data []byte) bool {
	found, _ := filepath.Glob(filepath.Join(dir, tempImage+"*", "layer-*"))
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, path := range open {
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, dir) {
			found = append(found, path)
		}
	}
	for _, path := range found {
		if now, err := os.ReadFile(path); err == nil && string(now) == string(old) {
			return os.WriteFile(path, data, 0o600) == nil
		}
	}
	return false
}

// TestTreeChanged checks that changes to the files of an image before its rename are not part of
// the image.
func TestTreeChanged(t *testing.T) {
	t.Parallel()
	at := time.Unix(1e9, 0)
	for name, change := range map[string]func(root string) error{
		"changed content": func(root string) error {
			return errors.Join(os.WriteFile(filepath.Join(root, "d/a"), []byte("evil"), 0o600), os.Chtimes(filepath.Join(root, "d/a"), at, at))
		},
		"exchanged": func(root string) error {
			other := filepath.Join(filepath.Dir(root), "other")
			return errors.Join(os.WriteFile(other, []byte("evil"), 0o644), os.Chtimes(other, at, at), os.Rename(other, filepath.Join(root, "d/b")))
		},
		"a program": func(root string) error { return os.Chmod(filepath.Join(root, "d/b"), 0o755) },
		"a link": func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "l")), os.Symlink("d/b", filepath.Join(root, "l")))
		},
		"a link in place of a file": func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "d/b")), os.Symlink("a", filepath.Join(root, "d/b")))
		},
		"a pipe": func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "d/b")), syscall.Mkfifo(filepath.Join(root, "d/b"), 0o600))
		},
		"a world-writable directory": func(root string) error { return os.Chmod(filepath.Join(root, "d"), 0o777) },
		"an added file":              func(root string) error { return os.WriteFile(filepath.Join(root, "d/c"), nil, 0o644) },
		"a removed file":             func(root string) error { return os.Remove(filepath.Join(root, "d/b")) },
		"a link as index":            func(root string) error { return os.Symlink("root/d/b", filepath.Join(filepath.Dir(root), indexFile)) },
	} {
		for _, verify := range []string{"", "--verify-cache"} {
			t.Run(name+verify, func(t *testing.T) {
				t.Parallel()
				s := newStore(cacheDir(t), bounds{})
				s.verify = verify
				last := pack(t, directory("last"))
				f := regtest.Serve(t, amid(t, last, func() bool {
					roots, _ := filepath.Glob(filepath.Join(s.dir, tempImage+"*", "new", rootDir))
					if len(roots) != 1 || !applied(roots[0]) {
						return false
					}
					if err := change(roots[0]); err != nil {
						t.Error(err)
					}
					return true
				}))
				got, err := s.get(t.Context(), publish(t, f, "", small(t), pack(t, directory("done")), last))
				if err == nil {
					t.Errorf("unpacked: %v", listing(t, got.root))
				} else if !errors.Is(err, failure.Untrusted) && name != "a link as index" {
					t.Errorf("%T %v", err, err)
				}
				clean(t, s, false)
			})
		}
	}
}

// applied reports whether all of small was unpacked, and the next layer has begun.
func applied(root string) bool {
	_, err := os.Lstat(filepath.Join(root, "done"))
	return err == nil
}

// TestUnpackedOtherwise checks that a layer must have the uncompressed digest in the image's
// config.
func TestUnpackedOtherwise(t *testing.T) {
	t.Parallel()
	for _, diff := range []string{digest.FromString("another").String(), "", "sha256:x"} {
		f := regtest.Serve(t)
		a := publish(t, f, `{"os":"linux","config":{"Cmd":["run"]},"rootfs":{"diff_ids":["`+diff+`"]}}`, small(t))
		s := newStore(cacheDir(t), bounds{})
		if _, err := s.get(t.Context(), a); !isA[*Error](err) || !strings.Contains(err.Error(), "it unpacks to sha256:") {
			t.Errorf("%q: %T %v", diff, err, err)
		}
		clean(t, s, false)
	}
}

// TestNamesOfOneFile checks that a hard link has the content that was written, whichever of its
// names remain.
func TestNamesOfOneFile(t *testing.T) {
	t.Parallel()
	got, err := unpackLayers(t, bounds{},
		pack(t, regular("a", "1"), hardlink("b", "a"), hardlink("c", "b"), regular("d", "2")),
		pack(t, regular(".wh.b", ""), hardlink("e", "d"), regular(".wh.d", "")))
	if err != nil || len(listing(t, got.root)) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLocksInTheWay checks that nothing in the place of a lock is waited for, or followed
// elsewhere.
func TestLocksInTheWay(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "made")
	for name, put := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link":      func(path string) error { return os.Symlink(outside, path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		s := newStore(cacheDir(t), bounds{})
		a := publish(t, regtest.Serve(t), "", small(t))
		final := filepath.Join(s.dir, a.Manifest.Digest.Encoded())
		err := errors.Join(os.MkdirAll(s.dir, 0o700), put(filepath.Join(s.dir, lockSuffix)), put(final+lockSuffix),
			os.Mkdir(filepath.Join(s.dir, tempImage+"x"), 0o700), put(filepath.Join(s.dir, tempImage+"x", "lock")))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.get(t.Context(), a); err != nil || len(listing(t, got.root)) != 5 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a lock was made where a link leads")
	}
}

// TestPipes checks that named pipes, and links to them, are not waited for.
func TestPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{indexFile, configFile, "root/d/b", "root/d"} {
		for _, verify := range []string{"", "--verify-cache"} {
			s := newStore(cacheDir(t), bounds{})
			a := publish(t, regtest.Serve(t), "", small(t))
			got, err := s.get(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			path, want := filepath.Join(filepath.Dir(got.root), name), len(listing(t, got.root))
			if err := errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			s = another(s)
			s.verify = verify
			if got, err = s.get(t.Context(), a); err != nil || len(listing(t, got.root)) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
