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
	Blobs    Kind = "blobs"  // what registries gave: a file each
	Programs Kind = "exec"   // exec functions: a directory each
	Images   Kind = "images" // unpacked images: a directory each
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Blobs, Programs, Images} }

// Dir is where the entries of a kind lie that are named by an algorithm's digests.
func (k Kind) Dir(cache string, a digest.Algorithm) string {
	return filepath.Join(cache, string(k), a.String())
}

// Path is where an entry lies.
func (k Kind) Path(cache string, d digest.Digest) string {
	return filepath.Join(k.Dir(cache, d.Algorithm()), d.Encoded())
}

// noted is how exact the time is at which an entry was used last: it is not written down
// again before that.
const noted = time.Hour

// Used notes that an entry is used. A cache that cannot be written to keeps no such notes.
func Used(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) >= noted && info.Mode()&fs.ModeSymlink == 0 {
		_ = os.Chtimes(path, now, now)
	}
}

// Entry is one thing in the cache.
type Entry struct {
	Kind   Kind
	Digest digest.Digest
	Size   int64     // bytes of its files
	Used   time.Time // when it was used last, to the hour; the zero time for what is left of an entry
	path   string
}

// NotCacheError says that a directory is something else.
type NotCacheError struct{ Path, Why string }

func (e *NotCacheError) Error() string {
	return fmt.Sprintf("%s is no cache of krmcat's: %s", e.Path, e.Why)
}

// List lists what is in a cache, kind by kind. One that is not there is empty. What has no
// digest for a name is somebody else's, and not listed.
//
// Errors: *NotCacheError, the context's, or what is wrong with the disk.
func List(ctx context.Context, cache string) ([]Entry, error) {
	// An image layout has blobs under the same names, and nobody means those.
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
				continue // somebody else was faster
			} else if err != nil {
				return nil, fmt.Errorf("looking into the cache: %w", err)
			}
			if strings.HasPrefix(e.Name(), temporary) {
				if !strings.HasPrefix(e.Name(), removed) && time.Since(entry.Used) < abandoned {
					continue // somebody is at it
				}
				entry.Digest, entry.Used = "", time.Time{}
			}
			out = append(out, entry)
		}
	}
	return out, nil
}

// look finds out how large it is, and when it was used.
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

// temporary begins the names of what is being made or unpacked, and removed those of what is
// about to be removed, which is swept alike. What was made for longer than abandoned is
// made no more.
const (
	temporary = ".tmp-"
	removed   = temporary + "removed-"
	abandoned = 24 * time.Hour
)

// Remove takes an entry away, unless it was used since it was listed. It is gone as a whole
// first, so that nobody takes what is left for it, and then from the disk.
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
	if !e.unused(path) { // it was used at the last moment, and is not missed yet
		return false, os.Rename(path, e.path)
	}
	return true, os.RemoveAll(path)
}

// unused tells whether it is still as it was listed.
func (e Entry) unused(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.ModTime().Equal(e.Used)
}

// gentle has nobody mind what is gone already.
func gentle(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
