package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/store"
)

// diskFile is one file on disk. It is read twice, for its digest and for its content. The second
// read is verified by the digest.
type diskFile struct {
	disk  store.Disk
	path  string
	ref   string
	role  mediatypes.Role
	limit int64
}

// Resolve hashes the file.
func (f *diskFile) Resolve(context.Context, string) (ocispec.Descriptor, error) {
	in, err := f.open()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(in, f.limit+1))
	switch {
	case err != nil:
		return ocispec.Descriptor{}, fmt.Errorf("reading %s: %w", f.ref, err)
	case n > f.limit:
		return ocispec.Descriptor{}, &TooLargeError{Ref: f.ref, What: "file", Limit: f.limit}
	}
	return ocispec.Descriptor{
		MediaType:   blobType(f.role),
		Digest:      digest.NewDigestFromBytes(digest.SHA256, h.Sum(nil)),
		Size:        n,
		Annotations: map[string]string{ocispec.AnnotationTitle: filepath.Base(f.path)},
	}, nil
}

// Fetch opens the file.
func (f *diskFile) Fetch(context.Context, ocispec.Descriptor) (io.ReadCloser, error) { return f.open() }

// Exists reports whether the file is there.
func (f *diskFile) Exists(context.Context, ocispec.Descriptor) (bool, error) {
	_, err := os.Stat(f.path)
	return err == nil, nil
}

func (f *diskFile) open() (*os.File, error) {
	in, err := f.disk.Open(f.path)
	return in, localError(f.ref, err)
}

// localError converts an error of the file system to one of this package's types.
func localError(ref string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &NotFoundError{Ref: ref}
	}
	var p *os.PathError
	var kind *ownfile.KindError
	var beyond *ownfile.BeyondError
	switch { // ref contains the path
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &kind):
		err = &ownfile.KindError{Mode: kind.Mode}
	case errors.As(err, &beyond): // it contains the path
		return &LocalError{beyond}
	}
	if err != nil {
		return &LocalError{fmt.Errorf("reading %s: %w", ref, err)}
	}
	return nil
}

// LocalError reports an error of this machine's file system. Another attempt or a network would not
// change it.
type LocalError struct{ err error }

// Error returns the message of the cause.
func (e *LocalError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LocalError) Unwrap() error { return e.err }
