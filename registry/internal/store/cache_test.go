package store_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/registry/internal/store"
)

// opened returns the content that Open returns for a blob, "" for none.
func opened(t *testing.T, c store.Cache, d digest.Digest, limit int64) string {
	t.Helper()
	rc, ok := c.Open(d, limit)
	if !ok {
		return ""
	}
	defer func() { _ = rc.Close() }()
	data, err := io.ReadAll(rc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCache checks that a cache returns only content with the requested digest and within the
// limit.
func TestCache(t *testing.T) {
	t.Parallel()
	const text = "a blob"
	d := digest.FromString(text)
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := store.NewCache(dir)
			if _, ok := c.Get(d, 100); ok || opened(t, c, d, 100) != "" {
				t.Error("it has what nobody put there")
			}
			c.Put(d, []byte(text))
			if got, ok := c.Get(d, int64(len(text))); !ok || string(got) != text || opened(t, c, d, int64(len(text))) != text {
				t.Errorf("got %q, %v", got, ok)
			}
			for _, odd := range []digest.Digest{"", "sha256:x", "sha256:../../x"} {
				if _, ok := c.Get(odd, 100); ok || opened(t, c, odd, 100) != "" {
					t.Errorf("it has %q", odd)
				}
			}
			if opened(t, c, d, 3) != "" {
				t.Error("it gave more than was asked for")
			}
		})
	}
}

// TestDamaged checks that a file with other content than its digest is not returned and is removed.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{"other": "b blob", "short": "a", "long": "a blob and more"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, get := range map[string]func(c store.Cache, d digest.Digest) bool{
				"read":   func(c store.Cache, d digest.Digest) bool { _, ok := c.Get(d, 100); return ok },
				"opened": func(c store.Cache, d digest.Digest) bool { return opened(t, c, d, 100) != "" },
			} {
				dir := t.TempDir()
				c, d := store.NewCache(dir), digest.FromString("a blob")
				c.Put(d, []byte("a blob"))
				path := cachedir.Blobs.Path(dir, d)
				if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
					t.Fatal(err)
				}
				if get(c, d) {
					t.Errorf("%s: it was given", how)
				}
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("%s: it stayed: %v", how, err)
				}
				if left, err := filepath.Glob(filepath.Join(dir, "ingest", "*")); err != nil || len(left) > 0 {
					t.Errorf("%s: left %v, %v", how, left, err)
				}
			}
		})
	}
}
