package container

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
)

// errChanged ends a walk: the image is not what it was.
var errChanged = errors.New("it is not what was unpacked")

// intact reports whether nobody has touched an unpacked image, without reading any content:
// every entry is the one that was written, at the time it was written. A copy never is, be
// it a true one: what would vouch for it came the same way. The error is the context's.
func intact(ctx context.Context, dir string, d digest.Digest) (bool, error) {
	entries, err := readIndex(filepath.Join(dir, indexFile), d)
	if err != nil {
		return false, ctx.Err()
	}
	i := 0
	err = walkRoot(filepath.Join(dir, rootDir), func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i == len(entries) || entries[i] != seenEntry(path, info) {
			return errChanged
		}
		i++
		return nil
	})
	if err != nil || i != len(entries) {
		return false, ctx.Err()
	}
	return true, nil
}

// checkedImage is one that this process found intact, or has unpacked.
type checkedImage struct {
	config      imageConfig
	root, index indexEntry
}

// remembered gives what is known of an image, as long as it is still the same one that has
// its name. What changes below its root while this process runs is not looked for again:
// that directory is the user's alone.
func (s *images) remembered(d digest.Digest, final string) (imageConfig, bool) {
	s.mu.Lock()
	c, ok := s.checked[d]
	s.mu.Unlock()
	if !ok {
		return imageConfig{}, false
	}
	now, err := seenImage(final)
	return c.config, err == nil && now.root == c.root && now.index == c.index
}

// remember keeps that an image is intact. Where it is gone by now there is nothing to keep.
func (s *images) remember(d digest.Digest, final string, config imageConfig) {
	c, err := seenImage(final)
	if err != nil {
		return
	}
	c.config = config
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checked == nil {
		s.checked = map[digest.Digest]checkedImage{}
	}
	s.checked[d] = c
}

func seenImage(final string) (c checkedImage, err error) {
	for name, e := range map[string]*indexEntry{rootDir: &c.root, indexFile: &c.index} {
		info, err := os.Lstat(filepath.Join(final, name))
		if err != nil {
			return c, err
		}
		*e = seenEntry(name, info)
	}
	return c, nil
}
