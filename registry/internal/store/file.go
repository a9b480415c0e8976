package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry/internal/problem"
)

// File is one file on disk. It is read twice, for its digest and for its content. The second
// read is verified by the digest.
type File struct {
	Disk  Disk
	Path  string
	Ref   string // for errors
	Type  string // media type
	Limit int64  // of its size, in bytes
}

// Resolve hashes the file.
func (f *File) Resolve(context.Context, string) (ocispec.Descriptor, error) {
	in, err := f.open()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(in, f.Limit+1))
	switch {
	case err != nil:
		return ocispec.Descriptor{}, fmt.Errorf("reading %s: %w", f.Ref, err)
	case n > f.Limit:
		return ocispec.Descriptor{}, &problem.TooLargeError{Ref: f.Ref, What: "file", Limit: f.Limit}
	}
	return ocispec.Descriptor{
		MediaType:   f.Type,
		Digest:      digest.NewDigestFromBytes(digest.SHA256, h.Sum(nil)),
		Size:        n,
		Annotations: map[string]string{ocispec.AnnotationTitle: filepath.Base(f.Path)},
	}, nil
}

// Fetch opens the file.
func (f *File) Fetch(context.Context, ocispec.Descriptor) (io.ReadCloser, error) { return f.open() }

// Exists reports whether the file is there.
func (f *File) Exists(context.Context, ocispec.Descriptor) (bool, error) {
	_, err := os.Stat(f.Path)
	return err == nil, nil
}

func (f *File) open() (*os.File, error) {
	in, err := f.Disk.Open(f.Path)
	return in, problem.Local(f.Ref, err)
}
