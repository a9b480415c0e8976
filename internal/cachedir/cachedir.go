package cachedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// Kind is a kind of entries, and the name of their directory.
type Kind string

// The kinds.
const (
	Blobs    Kind = "blobs"  // content of registries: a file each
	Programs Kind = "exec"   // exec functions: a directory each
	Images   Kind = "images" // unpacked images: a directory each
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Blobs, Programs, Images} }

// Dir returns the directory of the entries of a kind with digests of an algorithm.
func (k Kind) Dir(cache string, a digest.Algorithm) string {
	return filepath.Join(cache, string(k), a.String())
}

// Path returns the path of an entry.
func (k Kind) Path(cache string, d digest.Digest) string {
	return filepath.Join(k.Dir(cache, d.Algorithm()), d.Encoded())
}

// noted is the precision of the recorded times of use: a time is not recorded again before it.
const noted = time.Hour

// Used records that an entry is used. In a cache that is read-only nothing is recorded.
func Used(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) >= noted && info.Mode()&fs.ModeSymlink == 0 {
		_ = os.Chtimes(path, now, now)
	}
}

// Entry is one entry of the cache.
type Entry struct {
	Kind   Kind
	Digest digest.Digest
	Size   int64     // bytes of its files
	Used   time.Time // last use, to the hour; zero for the remains of an entry
	path   string
}

// NotCacheError reports that a path is not that of a cache.
type NotCacheError struct{ Path, Why string }

// Error implements error.
func (e *NotCacheError) Error() string {
	return fmt.Sprintf("%s is not a cache of krmcat: %s", e.Path, e.Why)
}

// List returns the entries of a cache, kind by kind. A missing cache is empty. Files without a
// digest as their name are not krmcat's, and left out.
//
// Errors: *NotCacheError, that of the context, or that of the file system.
func List(ctx context.Context, cache string) ([]Entry, error) {
	if info, err := os.Stat(cache); err == nil && !info.IsDir() {
		return nil, &NotCacheError{cache, "it is not a directory"}
	}
	// An image layout has blobs with the same names, and must not be taken for a cache.
	for _, name := range []string{"oci-layout", "index.json"} {
		if _, err := os.Lstat(filepath.Join(cache, name)); err == nil {
			return nil, &NotCacheError{cache, "it is an OCI image layout"}
		}
	}
	var out []Entry
	for _, kind := range Kinds() {
		dir := kind.Dir(cache, digest.SHA256)
		for _, d := range []string{filepath.Dir(dir), dir} {
			if info, err := os.Lstat(d); err == nil && !info.IsDir() {
				return nil, &NotCacheError{cache, d + " is a link or a file"}
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("looking into the cache: %w", err)
		}
		for _, e := range entries {
			entry := Entry{Kind: kind, Digest: digest.NewDigestFromEncoded(digest.SHA256, e.Name()), path: filepath.Join(dir, e.Name())}
			if !strings.HasPrefix(e.Name(), temporary) && entry.Digest.Validate() != nil {
				continue
			}
			if err := entry.look(ctx); errors.Is(err, fs.ErrNotExist) {
				continue // another process removed it
			} else if err != nil {
				return nil, fmt.Errorf("looking into the cache: %w", err)
			}
			if strings.HasPrefix(e.Name(), temporary) {
				if !strings.HasPrefix(e.Name(), removed) && time.Since(entry.Used) < abandoned {
					continue // another process works on it
				}
				entry.Digest, entry.Used = "", time.Time{}
			}
			out = append(out, entry)
		}
	}
	return out, nil
}

// look reads the size of an entry, and the time of its last use.
func (e *Entry) look(ctx context.Context) error {
	info, err := os.Lstat(e.path)
	if err != nil {
		return err
	}
	e.Used = info.ModTime()
	return filepath.WalkDir(e.path, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			e.Size += info.Size()
		}
		return nil
	})
}

// temporary is the prefix of entries that are being made or unpacked, and removed that of entries
// that are being removed. Both are swept if they are older than abandoned.
const (
	temporary = ".tmp-"
	removed   = temporary + "removed-"
	abandoned = 24 * time.Hour
)

// Remove removes an entry, unless it was used since it was listed. It renames the entry first, so
// that nobody uses a part of it, and then deletes it.
func (e Entry) Remove() (gone bool, err error) {
	if e.Digest == "" {
		return true, os.RemoveAll(e.path)
	}
	path := filepath.Join(filepath.Dir(e.path), removed+e.Digest.Encoded())
	if err := os.RemoveAll(path); err != nil {
		return false, err
	}
	if !e.unused(e.path) {
		return false, nil
	}
	if err := os.Rename(e.path, path); err != nil {
		return false, gentle(err)
	}
	if !e.unused(path) { // it was used since it was listed
		return false, os.Rename(path, e.path)
	}
	return true, os.RemoveAll(path)
}

// unused reports whether an entry is unchanged since it was listed.
func (e Entry) unused(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.ModTime().Equal(e.Used)
}

// gentle ignores the error that something is gone already.
func gentle(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
