package registry

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// cache keeps blobs by digest. It may forget anything at any time, and what it returns
// has the digest that was asked for.
type cache interface {
	get(d digest.Digest, limit int64) ([]byte, bool)
	// open is get for what is too large for memory.
	open(d digest.Digest, limit int64) (io.ReadCloser, bool)
	put(d digest.Digest, data []byte)
}

func newCache(dir string) cache {
	if dir == "" {
		return &memoryCache{blobs: map[digest.Digest][]byte{}}
	}
	return &diskCache{dir: dir}
}

// memoryCacheSize is what a memoryCache holds at most, in bytes.
const memoryCacheSize = 64 << 20

type memoryCache struct {
	mu    sync.Mutex
	size  int
	blobs map[digest.Digest][]byte
}

func (c *memoryCache) get(d digest.Digest, limit int64) ([]byte, bool) {
	c.mu.Lock()
	data, ok := c.blobs[d]
	c.mu.Unlock()
	return data, ok && int64(len(data)) <= limit && sum(data) == d
}

func (c *memoryCache) open(d digest.Digest, limit int64) (io.ReadCloser, bool) {
	data, ok := c.get(d, limit)
	return io.NopCloser(bytes.NewReader(data)), ok
}

func (c *memoryCache) put(d digest.Digest, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += len(data) - len(c.blobs[d])
	c.blobs[d] = data
	for old := range c.blobs {
		if c.size <= memoryCacheSize {
			return
		}
		c.size -= len(c.blobs[old])
		delete(c.blobs, old)
	}
}

// diskCache is a directory blobs/sha256/HEX, the blobs part of an OCI image layout.
// Files appear by rename after their bytes were checked, and are checked again when
// read, so that any number of processes may share it and any of them may be killed.
type diskCache struct {
	dir   string
	sweep sync.Once
}

func (c *diskCache) path(d digest.Digest) string {
	return cachedir.Blobs.Path(c.dir, d)
}

func (c *diskCache) get(d digest.Digest, limit int64) ([]byte, bool) {
	if d.Validate() != nil {
		return nil, false
	}
	data, err := readRegular(c.path(d), limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false
	}
	if err != nil || sum(data) != d {
		// Damaged: it is fetched again. Removing it is a kindness, not a need.
		_ = os.Remove(c.path(d))
		return nil, false
	}
	cachedir.Used(c.path(d))
	return data, true
}

// open reads the file twice, so that a damaged one is fetched instead of being handed out.
func (c *diskCache) open(d digest.Digest, limit int64) (io.ReadCloser, bool) {
	if d.Validate() != nil {
		return nil, false
	}
	f, err := ownfile.Open(c.path(d))
	if err != nil {
		return nil, false
	}
	v := d.Verifier()
	n, err := io.Copy(v, io.LimitReader(f, limit+1))
	if err == nil && n <= limit && v.Verified() {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			cachedir.Used(c.path(d))
			return f, true
		}
	}
	_ = f.Close()
	_ = os.Remove(c.path(d))
	return nil, false
}

// put stores checked bytes. A cache that cannot be written to is a slow cache, not an
// error.
func (c *diskCache) put(d digest.Digest, data []byte) {
	temp := filepath.Join(c.dir, "ingest")
	if os.MkdirAll(temp, 0o700) != nil || os.MkdirAll(filepath.Dir(c.path(d)), 0o700) != nil {
		return
	}
	c.sweep.Do(func() { removeStale(temp, staleAfter) })
	_ = writeFile(temp, c.path(d), data, 0o600)
}

const (
	tempPrefix = ".krmcat-tmp-"
	// staleAfter is when a temporary file is taken for a killed process's.
	staleAfter = 24 * time.Hour
)

// removeStale removes what processes that were killed left behind: temporary files that
// were last written to so long ago; 0 for all.
func removeStale(dir string, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if age > 0 && time.Since(info.ModTime()) < age {
			continue
		}
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}

// writeFile writes to a temporary file in temp and renames it to path: a reader sees
// all of it or nothing.
func writeFile(temp, path string, data []byte, mode os.FileMode) error {
	name, err := writeTemp(temp, data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		_ = os.Remove(name)
		return err
	}
	return nil
}

func writeTemp(dir string, data []byte, mode os.FileMode) (string, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
