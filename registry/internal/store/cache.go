package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// Cache keeps blobs by digest. It may drop any blob at any time. A returned blob has the requested
// digest.
type Cache interface {
	// Get returns a blob of at most limit bytes, and reports whether there is one.
	Get(d digest.Digest, limit int64) ([]byte, bool)
	// Open is Get for blobs that are too large for memory.
	Open(d digest.Digest, limit int64) (io.ReadCloser, bool)
	// Put stores a blob, which must have the digest.
	Put(d digest.Digest, data []byte)
}

// NewCache returns a cache in a directory, or in memory if dir is "".
func NewCache(dir string) Cache {
	if dir == "" {
		return &memoryCache{blobs: map[digest.Digest][]byte{}}
	}
	return &diskCache{dir: dir}
}

// memoryCacheSize is the maximum content of a memoryCache, in bytes.
const memoryCacheSize = 64 << 20

type memoryCache struct {
	mu    sync.Mutex
	size  int
	blobs map[digest.Digest][]byte
}

// Get implements Cache.
func (c *memoryCache) Get(d digest.Digest, limit int64) ([]byte, bool) {
	c.mu.Lock()
	data, ok := c.blobs[d]
	c.mu.Unlock()
	return data, ok && int64(len(data)) <= limit && digest.FromBytes(data) == d
}

// Open implements Cache.
func (c *memoryCache) Open(d digest.Digest, limit int64) (io.ReadCloser, bool) {
	data, ok := c.Get(d, limit)
	return io.NopCloser(bytes.NewReader(data)), ok
}

// Put implements Cache.
func (c *memoryCache) Put(d digest.Digest, data []byte) {
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

// diskCache is a directory blobs/sha256/HEX, as in an OCI image layout. Files get their final name
// by rename after their digest was checked, and are checked again when they are read. So several
// processes may share it, and any of them may be killed.
type diskCache struct {
	dir   string
	sweep sync.Once
}

func (c *diskCache) path(d digest.Digest) string {
	return cachedir.Blobs.Path(c.dir, d)
}

// Get implements Cache.
func (c *diskCache) Get(d digest.Digest, limit int64) ([]byte, bool) {
	if d.Validate() != nil {
		return nil, false
	}
	data, err := Disk{}.Read(c.path(d), limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false
	}
	if err != nil || digest.FromBytes(data) != d {
		// It is damaged and is fetched again. If it cannot be removed, the next Put replaces it.
		_ = os.Remove(c.path(d))
		return nil, false
	}
	cachedir.Used(c.path(d))
	return data, true
}

// Open implements Cache. It reads the file twice, so that a damaged one is not returned.
func (c *diskCache) Open(d digest.Digest, limit int64) (io.ReadCloser, bool) {
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

// Put implements Cache. Errors are ignored: krmcat works without a cache, only slower.
func (c *diskCache) Put(d digest.Digest, data []byte) {
	temp := filepath.Join(c.dir, "ingest")
	if os.MkdirAll(temp, 0o700) != nil || os.MkdirAll(filepath.Dir(c.path(d)), 0o700) != nil {
		return
	}
	c.sweep.Do(func() { scratch.SweepFiles(temp, scratch.Stale) })
	_ = scratch.File{Path: c.path(d), Mode: 0o600, In: temp}.Write(data)
}
