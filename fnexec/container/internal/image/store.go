package image

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
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/registry"
)

// The files and directories of an unpacked image.
const (
	newDir     = "new" // the image while it is unpacked, before its rename
	rootDir    = "root"
	indexFile  = "index"
	configFile = "config.json"
)

// Store keeps unpacked images by the digests of their manifests:
// <cache>/images/sha256/<hex>/{root/,index,config.json}. Several processes of this user may
// share it, and may be killed at any time: an image with its final name is complete. A cache
// that other users can write to is refused.
type Store struct {
	cache  string
	dir    string // <cache>/images/sha256
	limits bounds
	never  bool   // images are not fetched
	verify string // what asks for each cached image to be compared with its layers; "" for nothing
	notify func(string)
	warn   func(string)
	calls  shared.Calls[digest.Digest, imageConfig]

	mu      sync.Mutex
	checked map[digest.Digest]checked
}

// Options say where images are kept, and when they are fetched.
type Options struct {
	// CacheDir is the absolute path of krmcat's cache.
	CacheDir string
	// Never makes an image that is not in the cache an error.
	Never bool
	// VerifyCache names what asks for each cached image to be compared with its layers, for people.
	// They are fetched for that, once in each process. If it is "", an image whose metadata are
	// unchanged counts as unchanged.
	VerifyCache string
	// Notify is called with what is fetched.
	Notify func(string)
	// Warn is called if a cached image was changed.
	Warn func(string)
}

// New returns a store. It does not access the disk.
func New(o Options) *Store {
	s := newStore(o.CacheDir, bounds{})
	s.never, s.verify, s.notify, s.warn = o.Never, o.VerifyCache, o.Notify, o.Warn
	return s
}

// newStore returns a store in a cache directory, given by its absolute path.
func newStore(cache string, limits bounds) *Store {
	limits.setDefaults()
	return &Store{cache: cache, dir: cachedir.Images.Dir(cache, digest.SHA256), limits: limits, calls: shared.Calls[digest.Digest, imageConfig]{Forget: true, Again: true}, notify: func(string) {}, warn: func(string) {}}
}

// get returns the unpacked image for one platform. A cached image is checked once in each
// process. If it was changed, it is unpacked again. The root must not be written to.
//
// Errors: *Error, *LimitError, *UnfitError, *NotHereError, *ChangedError, *NotComparedError,
// *cachedir.ForeignError, *NoCacheError, those of registry.Artifact.Open, the context's, or one of
// the disk.
func (s *Store) get(ctx context.Context, a registry.Artifact) (image, error) {
	if !filepath.IsAbs(s.dir) {
		return image{}, &NoCacheError{Reason: "neither KRMCAT_CACHE_DIR nor HOME says where it is"}
	}
	if err := checkManifest(a, s.limits); err != nil {
		return image{}, err
	}
	final := filepath.Join(s.dir, a.Manifest.Digest.Encoded())
	config, err := s.calls.Do(ctx, a.Manifest.Digest, func() (imageConfig, error) { return s.ready(ctx, a, final) })
	if err != nil {
		return image{}, err
	}
	cachedir.Used(final)
	return image{name: a.Pinned().Display(), root: filepath.Join(final, rootDir), config: config}, nil
}

// ready makes an image available. It is called once at a time for each image in this process.
func (s *Store) ready(ctx context.Context, a registry.Artifact, final string) (imageConfig, error) {
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
	now, err := examine(ctx, final, a)
	switch {
	case err != nil:
		return imageConfig{}, err
	case s.never && now.odd != "":
		return imageConfig{}, &ChangedError{a.Pinned().Display(), now.odd}
	case s.never && !now.whole:
		return imageConfig{}, &NotHereError{a.Pinned().Display()}
	}
	config, err := s.config(ctx, a, now.config)
	if err == nil && (!now.whole || s.verify != "") {
		err = s.place(ctx, a, config, final)
	}
	if err != nil {
		return imageConfig{}, err
	}
	s.remember(d, final, config.imageConfig)
	return config.imageConfig, nil
}

// unpacked is an image's config, decoded and as bytes.
type unpacked struct {
	imageConfig
	raw []byte
}

// place unpacks an image, unless another process has done so.
func (s *Store) place(ctx context.Context, a registry.Artifact, config unpacked, final string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return &NoCacheError{Err: err}
	}
	if err := s.usable(final); err != nil { // again: another user may have made a part of it
		return err
	}
	unlock, err := lockFile(ctx, final+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := examine(ctx, final, a)
	if err != nil || now.whole && s.verify == "" {
		return err
	}
	if now.odd != "" {
		s.warn(fmt.Sprintf("%s is not in the cache as it was unpacked: %s: it is unpacked again", a.Pinned().Display(), now.odd))
	}
	return s.make(ctx, a, config, replaced{final, now.whole})
}

// config returns the image's config. raw is the cached one, so that a cached image needs no
// registry; nil if it must be fetched.
func (s *Store) config(ctx context.Context, a registry.Artifact, raw []byte) (unpacked, error) {
	if raw == nil {
		var err error
		if raw, err = a.Read(ctx, a.Config); err != nil {
			return unpacked{}, err
		}
	}
	c, err := decodeConfig(raw, len(a.Files))
	if err != nil {
		return unpacked{}, &Error{Image: a.Pinned().Display(), Err: err}
	}
	if reason := c.Platform.Elsewhere(); reason != "" {
		return unpacked{}, &UnfitError{a.Pinned().Display(), reason}
	}
	return unpacked{c, raw}, nil
}

// replaced is the place of a new image, and what it replaces.
type replaced struct {
	final string
	seems bool // the cached image has unchanged metadata, and stays if its content is unchanged too
}

// make unpacks an image and moves it to its place.
func (s *Store) make(ctx context.Context, a registry.Artifact, config unpacked, place replaced) error {
	s.notify(fmt.Sprintf("fetching %s, %s", a.Pinned().Display(), megabytes(a)))
	temp, err := scratch.Below(s.dir, tempImage)
	if err != nil {
		return &NoCacheError{Err: err}
	}
	defer temp.Remove()
	tree, err := s.unpack(ctx, a, config, filepath.Join(temp.Path, newDir))
	if errors.Is(err, syscall.ENOSPC) {
		return &NoCacheError{Err: err}
	}
	if err != nil {
		return err
	}
	if place.seems {
		same, err := s.unchanged(ctx, a, tree, place.final)
		if err != nil || same {
			return err
		}
	}
	if err := exchange(ctx, a, temp.Path, place.final); err != nil || s.verify == "" {
		return err
	}
	// All content is compared once more in its final place: another process may have changed it.
	found, err := tree.confirm(ctx, filepath.Join(place.final, rootDir), true)
	if err == nil && found.odd != "" {
		err = notAsWritten(filepath.Join(place.final, rootDir, found.odd))
	}
	return err
}

// exchange moves an unpacked image to its final place.
func exchange(ctx context.Context, a registry.Artifact, temp, final string) error {
	if err := os.Rename(final, filepath.Join(temp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing a damaged image: %w", err)
	}
	err := os.Rename(filepath.Join(temp, newDir), final)
	if err == nil {
		return nil
	}
	// Without locks, another process may have been faster.
	if now, checkErr := examine(ctx, final, a); checkErr == nil && now.whole {
		return nil
	}
	return fmt.Errorf("unpacking the image: %w", err)
}

// unchanged compares the content of a cached image that seems unchanged with what was unpacked,
// and warns if it differs. The error is the context's.
func (s *Store) unchanged(ctx context.Context, a registry.Artifact, tree *node, final string) (bool, error) {
	found, err := tree.confirm(ctx, filepath.Join(final, rootDir), true)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		s.warn(fmt.Sprintf("%s cannot be compared with what is in the cache: %v: it was unpacked again", a.Pinned().Display(), err))
	case found.odd != "":
		s.warn(fmt.Sprintf("%s was changed in the cache, and its metadata restored: %s is not what the image has: it was unpacked again", a.Pinned().Display(), shown(found.odd)))
	default:
		return true, nil
	}
	return false, nil
}

// megabytes returns the size of what is fetched.
func megabytes(a registry.Artifact) string {
	var bytes int64
	for _, f := range a.Files {
		bytes += f.Size
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// unpack fills a directory, and writes its index last. Layers that wait are put beside it. It
// returns the tree of what was unpacked.
func (s *Store) unpack(ctx context.Context, a registry.Artifact, config unpacked, made string) (*node, error) {
	root := filepath.Join(made, rootDir)
	if err := os.Mkdir(made, 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(root, modeDir), os.Chmod(root, modeDir)); err != nil { // independent of the umask
		return nil, err
	}
	u, err := newUnpacker(a.Pinned().Display(), s.limits, root)
	if err != nil {
		return nil, err
	}
	defer u.close()
	if err := u.all(ctx, a, filepath.Dir(made), config.imageConfig); err != nil {
		return nil, err
	}
	found, err := u.tree.confirm(ctx, root, false)
	if err == nil && found.odd != "" {
		err = notAsWritten(filepath.Join(root, found.odd))
	}
	if err != nil {
		return nil, err
	}
	return u.tree, errors.Join(
		writeNew(filepath.Join(made, configFile), config.raw),
		writeNew(filepath.Join(made, indexFile), encodeIndex(a.Manifest.Digest, found.entries)))
}

// writeNew creates a file. It never writes through a link.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
