package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry"
)

// errChanged ends a walk: the image was changed.
var errChanged = errors.New("it is not what was unpacked")

// state describes a cached image.
type state struct {
	whole  bool   // it exists and its metadata are unchanged
	odd    string // for people: what was changed; "" for nothing to report
	config []byte // the image's config; nil if it is missing
}

// examine checks a cached image. It reads no content but the config: every entry must have the
// metadata that its index records. A copy of an image never passes, even if it is identical,
// since its index was copied with it. The error is the context's.
func examine(ctx context.Context, dir string, a registry.Artifact) (state, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return state{}, ctx.Err()
	}
	raw := readConfig(filepath.Join(dir, configFile), a)
	entries, err := readIndex(filepath.Join(dir, indexFile), a.Manifest.Digest)
	switch {
	case errors.Is(err, errOtherFormat):
		return state{config: raw}, ctx.Err()
	case err != nil:
		return state{config: raw, odd: "what says how it was unpacked is gone or damaged"}, ctx.Err()
	}
	odd, err := touched(ctx, filepath.Join(dir, rootDir), entries)
	if err != nil && ctx.Err() == nil {
		odd, err = "it cannot be looked at: "+err.Error(), nil
	}
	if odd == "" && raw == nil {
		odd = configFile + " is gone or was changed"
	}
	return state{whole: odd == "", odd: odd, config: raw}, err
}

// readConfig reads the cached config of an image; nil if it is missing or does not have its digest.
func readConfig(file string, a registry.Artifact) []byte {
	raw, err := readPlain(file, a.Config.Size)
	if err != nil || digest.FromBytes(raw) != a.Config.Digest {
		return nil
	}
	return raw
}

// readPlain reads a regular file of at most limit bytes.
func readPlain(path string, limit int64) ([]byte, error) {
	f, err := ownfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded.Read(f, limit)
}

// touched returns, for people, what differs from the index; "" for nothing. It prefers a file or
// a link to the directory whose time it changed. The error is the context's, or the disk's.
func touched(ctx context.Context, root string, entries []entry) (string, error) {
	i, odd, dir := 0, "", ""
	err := walkRoot(root, func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := seenEntry(path, info)
		switch {
		case i == len(entries) || entries[i].path != path:
			odd = added(root, path, entries[i:])
		case entries[i] == now:
		case path == "." && entries[i].inode != now.inode:
			odd = "it was copied or restored, not unpacked here"
		case !now.mode.IsDir() || !entries[i].mode.IsDir():
			odd = shown(path) + " was changed"
		case dir == "":
			dir = shown(path) + " was changed"
		}
		i++
		if odd != "" {
			return errChanged
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case odd != "":
		return odd, nil
	case err != nil:
		return "", err
	case i < len(entries):
		return shown(entries[i].path) + " is gone", nil
	}
	return dir, nil
}

// added distinguishes a path that is in no index from one that comes after a missing entry. rest
// holds the entries that were expected.
func added(root, path string, rest []entry) string {
	if len(rest) > 0 {
		if _, err := os.Lstat(filepath.Join(root, rest[0].path)); errors.Is(err, fs.ErrNotExist) {
			return shown(rest[0].path) + " is gone"
		}
	}
	return shown(path) + " was added"
}

// shown writes a path in an image for people.
func shown(path string) string {
	if path == "." {
		return "/"
	}
	if quoted := strconv.Quote("/" + path); len(quoted) != len(path)+len(`"/"`) {
		return quoted
	}
	return "/" + path
}

// checked is an image that this process has checked or unpacked.
type checked struct {
	config      imageConfig
	root, index entry
}

// remembered returns what is known of a checked image, if the directory with its name is still
// the same one. Later changes below its root are not noticed: only this user can make them.
func (s *Store) remembered(d digest.Digest, final string) (imageConfig, bool) {
	s.mu.Lock()
	c, ok := s.checked[d]
	s.mu.Unlock()
	if !ok {
		return imageConfig{}, false
	}
	now, err := seenNow(final)
	return c.config, err == nil && now.root == c.root && now.index == c.index
}

// remember records that an image is intact. It does nothing if the image is gone.
func (s *Store) remember(d digest.Digest, final string, config imageConfig) {
	c, err := seenNow(final)
	if err != nil {
		return
	}
	c.config = config
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checked == nil {
		s.checked = map[digest.Digest]checked{}
	}
	s.checked[d] = c
}

func seenNow(final string) (c checked, err error) {
	for name, e := range map[string]*entry{rootDir: &c.root, indexFile: &c.index} {
		info, err := os.Lstat(filepath.Join(final, name))
		if err != nil {
			return c, err
		}
		*e = seenEntry(name, info)
	}
	return c, nil
}
