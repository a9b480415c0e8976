package image

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// confirmed is the result of comparing a directory with an unpacked image.
type confirmed struct {
	entries []entry // the entries of the directory
	odd     string  // the first path that differs; "" for none
}

// confirm compares a directory with the tree of the unpacked image: kinds, modes, texts of links
// and content of files. Content of a file with unchanged metadata is read only if all is set.
// The error is the context's, or the disk's.
func (t *node) confirm(ctx context.Context, root string, all bool) (confirmed, error) {
	var c confirmed
	err := walkRoot(root, func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := seenEntry(path, info)
		same, err := t.find(path).is(filepath.Join(root, path), info, all)
		if err == nil && !same {
			c.odd, err = path, errChanged
		}
		c.entries = append(c.entries, e)
		return err
	})
	if errors.Is(err, errChanged) {
		return c, nil
	}
	if err == nil && len(c.entries) != t.count() {
		c.odd = cmp.Or(t.missing(root, "."), ".")
	}
	return c, err
}

// is reports whether the entry at a path is the node.
func (t *node) is(path string, info fs.FileInfo, all bool) (bool, error) {
	if t == nil || t.kind != kindByMode(info.Mode()) {
		return false, nil
	}
	switch t.kind {
	case kindDir:
		return info.Mode() == fs.ModeDir|modeDir, nil
	case kindLink:
		text, err := os.Readlink(path)
		return text == t.text, err
	case kindFile:
	}
	return t.file.is(path, info, all)
}

// is reports whether the file at a path is the one that was written.
func (w *writtenFile) is(path string, info fs.FileInfo, all bool) (bool, error) {
	now := seenEntry("", info)
	if now == w.seen && !all {
		return true, nil
	}
	// Another hard link changes a file's metadata but not its content.
	if now.mode != w.seen.mode || now.size != w.seen.size {
		return false, nil
	}
	sum, err := fileSum(path, info)
	switch {
	case errors.Is(err, errChanged) || errors.As(err, new(*ownfile.KindError)):
		return false, nil // the file was replaced, which is not an error of the disk
	case err != nil || sum != w.sum:
		return false, err
	}
	w.seen = now
	return true, nil
}

// missing returns the first path that does not exist.
func (t *node) missing(root, path string) string {
	if _, err := os.Lstat(filepath.Join(root, path)); err != nil {
		return path
	}
	var names []string
	for name := range t.names {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if found := t.names[name].missing(root, filepath.Join(path, name)); found != "" {
			return found
		}
	}
	return ""
}

// notAsWritten is the error for an image that another process changed while it was unpacked.
func notAsWritten(path string) error {
	return failure.Untrusted.Mark(fmt.Errorf("%s was changed while it was being unpacked", path))
}

// fileSum returns the digest of a file's content. The file must be the one of info.
func fileSum(path string, info fs.FileInfo) (sum [sha256.Size]byte, err error) {
	f, err := ownfile.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return sum, errors.Join(err, errChanged)
	}
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, info.Size()+1)) // another process may write to it without end
	h.Sum(sum[:0])
	return sum, err
}
