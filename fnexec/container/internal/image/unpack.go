package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
)

// The modes of unpacked entries: every user can read and execute, and nobody can write.
const (
	modeDir     = 0o755
	modeProgram = 0o755
	modeFile    = 0o644
)

// unpacker applies the layers of an image to a directory of its own.
type unpacker struct {
	image  string // for people
	limits bounds
	root   *os.Root
	tree   *node

	layer   int // number of the current layer, from 1
	digest  digest.Digest
	bytes   int64 // uncompressed, of all layers
	written int64 // to files, with holes
	holes   int64 // the size of sparse files
	entries int64
	names   int64
	steps   int64 // steps of resolving paths that are left

	at     *os.Root // the directory that was last written to
	atPath string
	buf    []byte
}

func newUnpacker(image string, limits bounds, dir string) (*unpacker, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &unpacker{
		image: image, limits: limits, root: root, buf: make([]byte, copyBuffer), steps: limits.steps,
		tree: &node{kind: kindDir, names: map[string]*node{}, mtime: time.Unix(0, 0)},
	}, nil
}

func (u *unpacker) close() {
	u.leave()
	_ = u.root.Close()
}

// all applies every layer, the lowest first, and makes the working directory. Layers that wait
// are put in temp.
func (u *unpacker) all(ctx context.Context, a registry.Artifact, temp string, config imageConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	fetch := startFetch(ctx, a, temp)
	defer fetch.close()
	defer cancel()
	for i, f := range a.Files {
		source, err := fetch.open(ctx, i)
		if err != nil {
			return err
		}
		err = u.apply(ctx, cancel, layerID{f.Digest, config.Diffs[i]}, source)
		if closed := source.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	if err := u.workingDir(config.WorkingDir); err != nil {
		return err
	}
	return u.times(u.tree, ".")
}

// workingDir makes the image's working directory if no layer has it, as container engines do. If
// it is a file, image.workingDir reports that later.
func (u *unpacker) workingDir(work string) error {
	u.layer, u.digest = u.layer+1, ""
	_, err := u.spot(append(parts(work), "."), u.implied) // the directory of what is in it
	if errors.Is(err, errNotDir) {
		return nil
	}
	var limit *LimitError
	var disk *os.PathError
	if err == nil || errors.As(err, &limit) || errors.As(err, &disk) {
		return err
	}
	return &Error{Image: u.image, Err: fmt.Errorf("its working directory %.200q: %w", work, err)}
}

// apply unpacks one layer. cancel ends a read of its source.
func (u *unpacker) apply(ctx context.Context, cancel func(), id layerID, source io.Reader) error {
	u.layer, u.digest = u.layer+1, id.blob
	s := &layerStream{image: u.image, id: id, limits: u.limits, source: source, budget: u.limits.bytes - u.bytes}
	s.start(ctx)
	name, err := u.untar(s)
	if err == nil {
		err = s.rest()
	}
	if err != nil {
		err = s.failure(name, err)
		cancel()
	}
	s.close()
	u.bytes += s.out
	return err
}

// untar applies the entries of one layer. With an error it returns the name of the entry.
func (u *unpacker) untar(s *layerStream) (string, error) {
	t := tar.NewReader(s)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", &damage{err}
		}
		if err := u.entry(h, t); err != nil {
			return h.Name, err
		}
	}
}

const (
	whiteout     = ".wh."
	whiteoutMeta = ".wh..wh." // internal files of AUFS
	whiteoutAll  = ".wh..wh..opq"
)

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return u.counted(len(h.Name))
	}
	name, err := entryName(h.Name)
	if err == nil {
		err = u.counted(len(h.Name))
	}
	if err != nil {
		return err
	}
	if len(name) == 0 {
		if h.Typeflag != tar.TypeDir {
			return errors.New("the root is a directory")
		}
		u.tree.mtime = sane(h.ModTime)
		return nil
	}
	for i, p := range name {
		if rest, ok := strings.CutPrefix(p, whiteout); ok {
			if strings.HasPrefix(p, whiteoutMeta) && p != whiteoutAll {
				return nil
			}
			if i != len(name)-1 || rest == "" || rest == "." || rest == ".." {
				return errors.New("it is not a valid whiteout")
			}
			return u.whiteout(name, rest)
		}
	}
	return u.add(name, h, content)
}

// counted counts an entry, and the memory for its names.
func (u *unpacker) counted(names int) error {
	if u.entries++; u.entries > u.limits.entries {
		return u.limit("entries", u.limits.entries)
	}
	return u.named(names)
}

func (u *unpacker) named(bytes int) error {
	if u.names += int64(bytes); u.names > u.limits.names {
		return u.limit("bytes of names", u.limits.names)
	}
	return nil
}

func (u *unpacker) limit(what string, limit int64) error {
	return &LimitError{Image: u.image, Layer: u.digest, What: what, Limit: limit}
}

// spot returns the place of an entry, and counts the steps.
func (u *unpacker) spot(name []string, make func(s spot) (*node, error)) (spot, error) {
	s, err := u.tree.spot(name, &u.steps, make)
	if errors.Is(err, errBudget) {
		err = u.limit("parts of paths to follow", u.limits.steps)
	}
	return s, err
}

// add adds an entry.
func (u *unpacker) add(name []string, h *tar.Header, content io.Reader) error {
	s, err := u.spot(name, u.implied)
	if err != nil {
		return err
	}
	if err := u.fits(s); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.dir(s, sane(h.ModTime))
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.file(s, h, content)
	case tar.TypeSymlink:
		return u.symlink(s, h.Linkname)
	case tar.TypeLink:
		return u.link(s, h.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		if s.path == "dev" || strings.HasPrefix(s.path, "dev/") {
			return nil // a function has a /dev of its own
		}
		return errors.New("devices and pipes are refused, except in /dev, where they are not needed")
	}
	return fmt.Errorf("entries of type %q are refused", h.Typeflag)
}

// fits refuses an entry that is too deep or has too long a path. Links may make the path longer
// than the entry's name.
func (u *unpacker) fits(s spot) error {
	switch {
	case int64(len(s.path)+1+len(s.base)) > u.limits.path:
		return u.limit("bytes of one path", u.limits.path)
	case s.path != "" && int64(strings.Count(s.path, "/"))+1 > u.limits.depth:
		return u.limit("directories above an entry", u.limits.depth)
	}
	return u.named(len(s.path))
}

// implied makes a directory for which no layer has an entry.
func (u *unpacker) implied(s spot) (*node, error) {
	if err := errors.Join(u.counted(len(s.base)), u.fits(s)); err != nil {
		return nil, err
	}
	if len(s.base) > 255 {
		return nil, errors.New("a link on its path holds a name that is longer than 255 bytes")
	}
	err := u.dir(s, time.Unix(0, 0))
	return s.dir.names[s.base], err
}

// sane returns a time that every file system can store, and that fits in nanoseconds.
func sane(t time.Time) time.Time {
	if t.Before(time.Unix(0, 0)) || t.Year() > 2200 {
		return time.Unix(0, 0)
	}
	return t
}

// times sets the times of directories, which writing entries has changed.
func (u *unpacker) times(n *node, path string) error {
	for name, c := range n.names {
		if c.kind != kindDir {
			continue
		}
		below := name
		if path != "." {
			below = path + "/" + name
		}
		if err := u.times(c, below); err != nil {
			return err
		}
	}
	return u.root.Chtimes(path, n.mtime, n.mtime)
}

// enter opens a directory for writing. Most entries are in the same one as the entry before.
func (u *unpacker) enter(path string) (*os.Root, error) {
	if u.at != nil && u.atPath == path {
		return u.at, nil
	}
	u.leave()
	open := path
	if open == "" {
		open = "."
	}
	r, err := u.root.OpenRoot(open)
	if err != nil {
		return nil, err
	}
	u.at, u.atPath = r, path
	return r, nil
}

func (u *unpacker) leave() {
	if u.at != nil {
		_ = u.at.Close()
		u.at = nil
	}
}
