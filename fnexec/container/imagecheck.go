package container

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// state is what became of an unpacked image.
type imageState int

const (
	imageBroken imageState = iota // something is missing, too much, or not what it was
	imageMoved                    // it may be what it was: a copy, or touched
	imageIntact                   // nobody has touched it
)

// errChanged ends a walk: the image is not what it was.
var errChanged = errors.New("it is not what was unpacked")

// checkRoot compares an unpacked image with its index, without reading any content. The
// error is the context's.
func checkRoot(ctx context.Context, dir string) (imageState, []indexEntry, error) {
	entries, err := readIndex(filepath.Join(dir, indexFile))
	if err != nil {
		return imageBroken, nil, ctx.Err()
	}
	root := filepath.Join(dir, rootDir)
	state, i := imageIntact, 0
	err = walkRoot(root, func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i == len(entries) {
			return errChanged
		}
		want, got := entries[i], seenEntry(path, info)
		i++
		if want.same(got) {
			return nil
		}
		state = imageMoved
		if !want.alike(got) {
			return errChanged
		}
		return nil
	})
	if err != nil || i != len(entries) {
		return imageBroken, nil, ctx.Err()
	}
	return state, entries, nil
}

// rehash reads every file and link of an image that may be what it was, and gives them the
// times they had: what is compiled beside its source goes by them. It returns the entries
// as they are now.
func rehash(ctx context.Context, dir string, entries []indexEntry) ([]indexEntry, error) {
	root, err := os.OpenRoot(filepath.Join(dir, rootDir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	buf := make([]byte, copyBuffer)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rehashEntry(root, e, buf); err != nil {
			return nil, err
		}
	}
	// Now that all times are set: one file may have several names.
	now := make([]indexEntry, len(entries))
	for i, e := range entries {
		info, err := root.Lstat(e.path)
		if err != nil {
			return nil, err
		}
		now[i] = seenEntry(e.path, info)
		if !e.alike(now[i]) {
			return nil, errChanged
		}
		now[i].sum, now[i].text = e.sum, e.text
	}
	return now, nil
}

func rehashEntry(root *os.Root, e indexEntry, buf []byte) error {
	if e.mode&fs.ModeSymlink != 0 {
		if text, err := root.Readlink(e.path); err != nil || text != e.text {
			return errChanged
		}
		return nil
	}
	if e.mode.IsRegular() {
		f, err := root.Open(e.path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.CopyBuffer(h, struct{ io.Reader }{io.LimitReader(f, e.size+1)}, buf); err != nil {
			return err
		}
		if [sha256.Size]byte(h.Sum(nil)) != e.sum {
			return errChanged
		}
	}
	t := time.Unix(0, e.mtime)
	return root.Chtimes(e.path, t, t)
}
