package container

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// content is what an entry of an unpacked image is, whenever and by whom it was written.
type content struct {
	path string
	mode fs.FileMode
	text string // of a link
	sum  [sha256.Size]byte
}

// difference compares an image with another that was unpacked from the same layers, by all of
// their content. It returns the first path that one of them has otherwise, "" for none. The
// error is the context's, or the disk's.
func difference(ctx context.Context, one, other string) (string, error) {
	a, err := contents(ctx, one)
	if err != nil {
		return "", err
	}
	b, err := contents(ctx, other)
	if err != nil {
		return "", err
	}
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return a[i].path, nil
		case i >= len(a), a[i] != b[i]:
			return b[i].path, nil
		}
	}
	return "", nil
}

// contents lists all that is in an image's root, in the order of walkRoot.
func contents(ctx context.Context, root string) ([]content, error) {
	var all []content
	err := walkRoot(root, func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := content{path: path, mode: info.Mode()}
		var err error
		switch full := filepath.Join(root, path); kindByMode(info.Mode()) {
		case kindLink:
			c.text, err = os.Readlink(full)
		case kindFile:
			c.sum, err = fileSum(full)
		case kindDir:
		}
		all = append(all, c)
		return err
	})
	return all, err
}

func fileSum(path string) (sum [sha256.Size]byte, err error) {
	f, err := ownfile.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	_, err = io.Copy(h, f)
	h.Sum(sum[:0])
	return sum, err
}
