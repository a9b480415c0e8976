package cachedir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
)

// filled is a cache with one entry of each kind, and things that are none.
func filled(t *testing.T) (cache string, names map[cachedir.Kind]digest.Digest) {
	t.Helper()
	cache, names = t.TempDir(), map[cachedir.Kind]digest.Digest{}
	for _, kind := range cachedir.Kinds() {
		d := digest.FromString(string(kind))
		names[kind] = d
		file := kind.Path(cache, d)
		if kind != cachedir.Blobs {
			file = filepath.Join(file, "root", "file")
		}
		for _, p := range []string{file, filepath.Join(kind.Dir(cache, digest.SHA256), ".lock"), filepath.Join(kind.Dir(cache, digest.SHA256), "else", "x"), filepath.Join(cache, "notes")} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte(kind), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cache, names
}

// TestCache has what is there listed, its use noted, and removed: it and nothing else.
func TestCache(t *testing.T) {
	t.Parallel()
	cache, names := filled(t)
	old := time.Now().Add(-48 * time.Hour)
	for kind, d := range names {
		if err := os.Chtimes(kind.Path(cache, d), old, old); err != nil {
			t.Fatal(err)
		}
	}
	cachedir.Used(cachedir.Images.Path(cache, names[cachedir.Images]))
	entries, err := cachedir.List(t.Context(), cache)
	if err != nil || len(entries) != 3 {
		t.Fatalf("got %+v, %v", entries, err)
	}
	for _, e := range entries {
		used := time.Since(e.Used) < time.Hour
		if e.Digest != names[e.Kind] || e.Size != int64(len(e.Kind)) || used != (e.Kind == cachedir.Images) {
			t.Errorf("got %+v", e)
		}
		if gone, err := e.Remove(); err != nil || !gone {
			t.Errorf("%v, %v", gone, err)
		}
		if gone, err := e.Remove(); err != nil || gone {
			t.Errorf("one that is gone: %v, %v", gone, err)
		}
	}
	if entries, err = cachedir.List(t.Context(), cache); err != nil || len(entries) > 0 {
		t.Errorf("got %+v, %v", entries, err)
	}
	for _, kind := range cachedir.Kinds() {
		left, err := os.ReadDir(kind.Dir(cache, digest.SHA256))
		if err != nil || len(left) != 2 {
			t.Errorf("%s: got %v, %v", kind, left, err)
		}
	}
}

// TestUsedMeanwhile has what was used since it was listed stay.
func TestUsedMeanwhile(t *testing.T) {
	t.Parallel()
	cache, names := filled(t)
	at := cachedir.Images.Path(cache, names[cachedir.Images])
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(at, old, old); err != nil {
		t.Fatal(err)
	}
	entries, err := cachedir.List(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	cachedir.Used(at)
	if gone, err := entries[2].Remove(); gone || err != nil {
		t.Errorf("got %v, %v", gone, err)
	}
	if _, err := os.Stat(filepath.Join(at, "root", "file")); err != nil {
		t.Error(err)
	}
}

// TestRemains has what a killed one left of an entry go with the next.
func TestRemains(t *testing.T) {
	t.Parallel()
	cache, names := filled(t)
	at := cachedir.Images.Path(cache, names[cachedir.Images])
	if err := os.Rename(at, filepath.Join(filepath.Dir(at), ".tmp-removed-"+filepath.Base(at))); err != nil {
		t.Fatal(err)
	}
	entries, err := cachedir.List(t.Context(), cache)
	if err != nil || len(entries) != 3 || entries[2].Digest != "" || !entries[2].Used.IsZero() {
		t.Fatalf("got %+v, %v", entries, err)
	}
	if gone, err := entries[2].Remove(); err != nil || !gone {
		t.Errorf("%v, %v", gone, err)
	}
	if entries, err = cachedir.List(t.Context(), cache); err != nil || len(entries) != 2 {
		t.Errorf("got %+v, %v", entries, err)
	}
}

// TestLinks has nothing followed that leads out.
func TestLinks(t *testing.T) {
	t.Parallel()
	cache, names := filled(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(out, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	image := cachedir.Images.Path(cache, names[cachedir.Images])
	link := cachedir.Blobs.Path(cache, digest.FromString("link"))
	if err := errors.Join(os.Chtimes(out, old, old), os.Symlink(filepath.Dir(out), filepath.Join(image, "link")), os.Symlink(out, link)); err != nil {
		t.Fatal(err)
	}
	cachedir.Used(link)
	entries, err := cachedir.List(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := e.Remove(); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(out); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("got %v, %v", info, err)
	}
}

// TestNoCache has other directories left alone.
func TestNoCache(t *testing.T) {
	t.Parallel()
	cache, _ := filled(t)
	if entries, err := cachedir.List(t.Context(), filepath.Join(cache, "none")); err != nil || entries != nil {
		t.Errorf("one that is not there: got %v, %v", entries, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cachedir.List(gone, cache); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(cache, "oci-layout"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var not *cachedir.NotCacheError
	linked, elsewhere := t.TempDir(), cachedir.Blobs.Dir(cache, digest.SHA256)
	if err := errors.Join(os.Mkdir(filepath.Join(linked, "blobs"), 0o700), os.Symlink(elsewhere, cachedir.Blobs.Dir(linked, digest.SHA256))); err != nil {
		t.Fatal(err)
	}
	if _, err := cachedir.List(t.Context(), linked); !errors.As(err, &not) {
		t.Errorf("one that leads elsewhere: got %v", err)
	}
	if _, err := cachedir.List(t.Context(), cache); !errors.As(err, &not) {
		t.Errorf("a layout: got %v", err)
	}
}
