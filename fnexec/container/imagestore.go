package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/registry"
)

// The files of an unpacked image.
const (
	rootDir    = "root"
	indexFile  = "index"
	configFile = "config.json"
)

// images keeps images unpacked under the digest of their manifest:
// <cache>/images/sha256/<hex>/{root/,index,config.json}. Any number of this user's processes
// may share it, and any of them may be killed: what has its name is whole. A cache in which
// others can write is refused.
type images struct {
	cache  string
	dir    string // <cache>/images/sha256
	limits imageLimits
	never  bool   // nothing is fetched: what is not there already is an error
	verify string // who has what is there compared with its layers, once in each process; "" for nobody
	notify func(string)
	warn   func(string)
	turns  turns

	mu      sync.Mutex
	checked map[digest.Digest]checkedImage
}

// newImages makes a store in a cache directory, which has to be absolute.
func newImages(cache string, limits imageLimits) *images {
	limits.setDefaults()
	return &images{cache: cache, dir: cachedir.Images.Dir(cache, digest.SHA256), limits: limits, notify: func(string) {}, warn: func(string) {}}
}

// get returns an image of one platform, unpacked. What is there is compared with what was
// unpacked, once in each process; where it differs, the image is unpacked anew. The root is
// not to be written to.
//
// Errors: *ImageError, *ImageLimitError, *UnfitError, *NotHereError, *cachedir.ForeignError, *NoCacheError, those of registry.Artifact.Open, the
// context's, or what is wrong with the disk.
func (s *images) get(ctx context.Context, a registry.Artifact) (image, error) {
	if !filepath.IsAbs(s.dir) {
		return image{}, &NoCacheError{Reason: "neither KRMCAT_CACHE_DIR nor HOME says where it is"}
	}
	if err := checkImage(a, s.limits); err != nil {
		return image{}, err
	}
	done, err := s.turns.wait(ctx, a.Manifest.Digest)
	if err != nil {
		return image{}, err
	}
	defer done()
	final := filepath.Join(s.dir, a.Manifest.Digest.Encoded())
	config, err := s.ready(ctx, a, final)
	if err != nil {
		return image{}, err
	}
	cachedir.Used(final)
	return image{name: a.Pinned().Display(), root: filepath.Join(final, rootDir), config: config}, nil
}

// ready sees to it that an image is there. It is the caller's turn.
func (s *images) ready(ctx context.Context, a registry.Artifact, final string) (imageConfig, error) {
	d := a.Manifest.Digest
	if err := s.usable(final); err != nil {
		return imageConfig{}, err
	}
	if config, ok := s.remembered(d, final); ok {
		return config, ctx.Err()
	}
	if _, err := os.Lstat(final); s.never && err != nil {
		return imageConfig{}, &NotHereError{a.Pinned().Display()}
	}
	if s.never && s.verify != "" {
		return imageConfig{}, &NotComparedError{a.Pinned().Display(), s.verify}
	}
	config, raw, err := s.config(ctx, a, final)
	if err != nil {
		return imageConfig{}, err
	}
	ok, err := intact(ctx, final, d)
	if err == nil && (!ok || s.verify != "") {
		err = s.place(ctx, a, unpacked{config, raw}, final)
	}
	if err != nil {
		return imageConfig{}, err
	}
	s.remember(d, final, config)
	return config, nil
}

// unpacked is what an image's config has a part in: where it is to run, and its own bytes.
type unpacked struct {
	imageConfig
	raw []byte
}

// place unpacks an image, unless another process does so first.
func (s *images) place(ctx context.Context, a registry.Artifact, config unpacked, final string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return &NoCacheError{Err: err}
	}
	if err := s.usable(final); err != nil { // somebody else may have made a part of it
		return err
	}
	unlock, err := lockFile(ctx, final+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	ok, err := intact(ctx, final, a.Manifest.Digest)
	if err != nil || ok && s.verify == "" {
		return err
	}
	return s.make(ctx, a, config, final, ok)
}

// config reads what the image says about itself: from beside its root, where it is the
// right one, so that an image that is there needs no registry.
func (s *images) config(ctx context.Context, a registry.Artifact, final string) (imageConfig, []byte, error) {
	file := filepath.Join(final, configFile)
	var raw []byte
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && info.Size() == a.Config.Size {
		raw, _ = os.ReadFile(file)
	}
	if digest.FromBytes(raw) != a.Config.Digest {
		var err error
		if raw, err = a.Read(ctx, a.Config); err != nil {
			return imageConfig{}, nil, err
		}
	}
	c, err := decodeImageConfig(raw, len(a.Files))
	if err != nil {
		return imageConfig{}, nil, &ImageError{Image: a.Pinned().Display(), Err: err}
	}
	if reason := c.Platform.elsewhere(); reason != "" {
		return imageConfig{}, nil, &UnfitError{a.Pinned().Display(), reason}
	}
	return c, raw, nil
}

// make unpacks an image and gives it its name, in place of what has it. Where that seems to
// be intact, it stays if all of its content is that of the layers.
func (s *images) make(ctx context.Context, a registry.Artifact, config unpacked, final string, seems bool) error {
	sweepImages(s.dir)
	s.notify(fmt.Sprintf("fetching %s, %s", a.Pinned().Display(), megabytes(a)))
	temp, remove, err := tempImageDir(ctx, s.dir)
	if err != nil {
		return &NoCacheError{Err: err}
	}
	defer remove()
	made := filepath.Join(temp, "new")
	if err := s.unpack(ctx, a, config.WorkingDir, made); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return &NoCacheError{Err: err}
		}
		return err
	}
	if seems {
		path, err := difference(ctx, filepath.Join(final, rootDir), filepath.Join(made, rootDir))
		if err == nil && path == "" || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.warn(fmt.Sprintf("%s cannot be compared with what is in the cache: %v: it was unpacked anew", a.Pinned().Display(), err))
		} else {
			s.warn(fmt.Sprintf("%s was changed in the cache, by somebody who hid it: /%s is not what the image has: it was unpacked anew", a.Pinned().Display(), path))
		}
	}
	if err := os.WriteFile(filepath.Join(made, configFile), config.raw, 0o600); err != nil {
		return fmt.Errorf("unpacking the image: %w", err)
	}
	if err := os.Rename(final, filepath.Join(temp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("taking away a damaged image: %w", err)
	}
	err = os.Rename(made, final)
	if err == nil {
		return nil
	}
	// Where there are no locks another process may have been first.
	if ok, checkErr := intact(ctx, final, a.Manifest.Digest); checkErr == nil && ok {
		return nil
	}
	return fmt.Errorf("unpacking the image: %w", err)
}

// megabytes is how much there is to fetch.
func megabytes(a registry.Artifact) string {
	var bytes int64
	for _, f := range a.Files {
		bytes += f.Size
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// unpack fills a directory, its index last. Beside it is room for what waits.
func (s *images) unpack(ctx context.Context, a registry.Artifact, work, made string) error {
	root := filepath.Join(made, rootDir)
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(root, modeDir), os.Chmod(root, modeDir)); err != nil { // whatever the umask
		return err
	}
	u, err := newUnpacker(a.Pinned().Display(), s.limits, root)
	if err != nil {
		return err
	}
	defer u.close()
	if err := u.all(ctx, a, filepath.Dir(made), work); err != nil {
		return err
	}
	entries, err := indexOf(root, u.tree)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(made, indexFile), encodeIndex(a.Manifest.Digest, entries), 0o600)
}
