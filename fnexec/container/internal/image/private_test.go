package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// TestNotPrivate checks that an image that another user could have written is neither run nor
// replaced, and that the error names the place.
func TestNotPrivate(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	places := map[string]func(s *Store, entry string) string{
		"the cache":  func(s *Store, _ string) string { return s.cache },
		"images":     func(s *Store, _ string) string { return filepath.Dir(s.dir) },
		"sha256":     func(s *Store, _ string) string { return s.dir },
		"the entry":  func(_ *Store, entry string) string { return entry },
		"its root":   func(_ *Store, entry string) string { return filepath.Join(entry, rootDir) },
		"its index":  func(_ *Store, entry string) string { return filepath.Join(entry, indexFile) },
		"its config": func(_ *Store, entry string) string { return filepath.Join(entry, configFile) },
	}
	for name, place := range places {
		for how, tc := range map[string]struct {
			do   func(path string) error
			says string
		}{
			"writable by its group": {func(p string) error { return os.Chmod(p, 0o770) }, "can be written to by others ([d-]rwxrwx---): chmod go-w it, or set KRMCAT_CACHE_DIR"},
			"everybody's":           {func(p string) error { return os.Chmod(p, 0o777|os.ModeSticky) }, "can be written to by others"},
			"a link": {func(p string) error {
				return errors.Join(os.Rename(p, p+"-elsewhere"), os.Symlink(p+"-elsewhere", p))
			}, "is a link: remove it, or set KRMCAT_CACHE_DIR"},
			"of another user": {func(p string) error { return os.Lchown(p, 54321, -1) }, "belongs to user 54321, not to root: set KRMCAT_CACHE_DIR"},
		} {
			t.Run(name+" is "+how, func(t *testing.T) {
				t.Parallel()
				if how == "of another user" && os.Geteuid() != 0 {
					enginetest.Missing(t, "only root can give a file away")
				}
				s := newStore(cacheDir(t), bounds{})
				f := regtest.Serve(t)
				a := publish(t, f, "", small(t))
				got, err := s.get(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				path := place(s, filepath.Dir(got.root))
				if err := tc.do(path); err != nil {
					t.Fatal(err)
				}
				linked := name == "the cache" && how == "a link" // allowed: the user chooses the path to the cache
				for _, s := range []*Store{s, another(s)} {
					_, err = s.get(t.Context(), a)
					var refused *cachedir.ForeignError
					switch {
					case linked && err != nil:
						t.Error(err)
					case !linked && (!errors.As(err, &refused) || refused.Path != path || !says(err, tc.says)):
						t.Errorf("%T %v", err, err)
					}
				}
				if n := f.Count("GET", a.Files[0].Digest.Encoded()); n != 1 {
					t.Errorf("the layer was fetched %d times", n)
				}
			})
		}
	}
}

// says expects an error that contains a text, in which [d-] is either.
func says(err error, text string) bool {
	for _, c := range []string{"d", "-"} {
		if strings.Contains(err.Error(), strings.ReplaceAll(text, "[d-]", c)) {
			return true
		}
	}
	return false
}

// TestMadePrivate checks that only the user can write to what krmcat makes.
func TestMadePrivate(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	s := newStore(cacheDir(t), bounds{})
	got, err := s.get(t.Context(), publish(t, regtest.Serve(t), "", small(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{s.cache, filepath.Dir(s.dir), s.dir, filepath.Dir(got.root)} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

// TestAnothersPlace checks that an unpacked image that was moved to another image's name is not
// used.
func TestAnothersPlace(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	s := newStore(cacheDir(t), bounds{})
	f := regtest.Serve(t)
	good, old := publish(t, f, "", pack(t, regular("good", ""))), publish(t, f, "", pack(t, regular("old", "")))
	got, err := s.get(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Dir(got.root), filepath.Join(s.dir, good.Manifest.Digest.Encoded())); err != nil {
		t.Fatal(err)
	}
	if got, err = s.get(t.Context(), good); err != nil || listing(t, got.root)["good"] == "" {
		t.Errorf("%v, %v", listing(t, got.root), err)
	}
}

// TestCheckedOnce checks that a process examines an image once, and again if its directory was
// replaced.
func TestCheckedOnce(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	s := newStore(cacheDir(t), bounds{})
	f := regtest.Serve(t)
	a := publish(t, f, "", small(t))
	fetched := func() int { return f.Count("GET", a.Files[0].Digest.Encoded()) }
	got, err := s.get(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(got.root, "d", "stray")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.get(t.Context(), a); err != nil || fetched() != 1 {
		t.Errorf("it was checked again: %v", err)
	}
	if _, err := another(s).get(t.Context(), a); err != nil || fetched() != 2 {
		t.Errorf("another process did not check it: %v", err)
	}
	if _, err := s.get(t.Context(), a); err != nil || fetched() != 2 {
		t.Errorf("what another process unpacked was not taken: %v", err)
	}
	for range 2 {
		if err := os.RemoveAll(filepath.Dir(got.root)); err != nil {
			t.Fatal(err)
		}
		if got, err = s.get(t.Context(), a); err != nil || len(listing(t, got.root)) != 5 {
			t.Errorf("it was taken away, and is not back: %v", err)
		}
	}
}
