package exec

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
)

// The bounds on archives.
const (
	maxProgram  = 512 << 20 // bytes of the program
	maxUnpacked = 1 << 30   // bytes that are unpacked to find it
	maxEntries  = 100_000
)

var errTooLarge = fmt.Errorf("the program in it is larger than %d bytes", maxProgram)

// visit calls f for each regular file of an archive until more is false.
type visit func(ctx context.Context, blob []byte, f func(name string, r io.Reader) (more bool, err error)) error

// archiveOf recognises an archive by its content, not its name; nil if it is none.
func archiveOf(blob []byte) visit {
	switch {
	case bytes.HasPrefix(blob, []byte{0x1f, 0x8b}):
		return visitTar
	case bytes.HasPrefix(blob, []byte("PK\x03\x04")), bytes.HasPrefix(blob, []byte("PK\x05\x06")):
		return visitZip
	}
	return nil
}

// extract returns one program of an archive: the member with the path bin, or the only one with
// that base name, or, if bin is "", the only file. It does not follow links, and writes no file.
func extract(ctx context.Context, blob []byte, bin string) ([]byte, error) {
	members, err := list(ctx, blob)
	if err != nil {
		return nil, fmt.Errorf("reading the archive: %w", err)
	}
	i, err := pick(members, bin)
	if err != nil {
		return nil, err
	}
	var data []byte
	n := -1
	err = archiveOf(blob)(ctx, blob, func(_ string, r io.Reader) (bool, error) {
		if n++; n != i {
			return true, nil
		}
		var err error
		data, err = bounded.Read(r, maxProgram)
		if errors.Is(err, bounded.ErrMore) {
			err = failure.Untrusted.Mark(errTooLarge)
		}
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", members[i], err)
	}
	return data, nil
}

// list returns the cleaned names of an archive's files.
func list(ctx context.Context, blob []byte) ([]string, error) {
	var names []string
	err := archiveOf(blob)(ctx, blob, func(name string, _ io.Reader) (bool, error) {
		if len(names) == maxEntries {
			return false, failure.Untrusted.Mark(fmt.Errorf("it holds more than %d files", maxEntries))
		}
		names = append(names, path.Clean(strings.ReplaceAll(name, `\`, "/")))
		return true, nil
	})
	return names, err
}

func pick(members []string, bin string) (int, error) {
	if len(members) == 0 {
		return 0, errors.New("the archive holds no files")
	}
	if bin == "" {
		if len(members) > 1 {
			return 0, errors.New("the archive holds several files and bin does not say which is the program")
		}
		return 0, nil
	}
	bin = path.Clean(strings.ReplaceAll(bin, `\`, "/"))
	for _, same := range []func(string) bool{
		func(m string) bool { return m == bin },
		func(m string) bool { return path.Base(m) == bin },
	} {
		found := -1
		for i, m := range members {
			if !same(m) {
				continue
			}
			if found >= 0 {
				return 0, failure.Untrusted.Mark(fmt.Errorf("the archive holds %s twice: %s and %s", bin, members[found], m))
			}
			found = i
		}
		if found >= 0 {
			return found, nil
		}
	}
	return 0, fmt.Errorf("the archive holds no file %s", bin)
}

func visitTar(ctx context.Context, blob []byte, f func(string, io.Reader) (bool, error)) error {
	z, err := gzip.NewReader(bytes.NewReader(blob))
	if err != nil {
		return err
	}
	t := tar.NewReader(bound(ctx, z))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if more, err := f(h.Name, t); err != nil || !more {
			return err
		}
	}
}

func visitZip(ctx context.Context, blob []byte, f func(string, io.Reader) (bool, error)) error {
	z, err := zip.NewReader(bytes.NewReader(blob), int64(len(blob)))
	if err != nil {
		return err
	}
	for _, m := range z.File {
		if !m.Mode().IsRegular() {
			continue
		}
		r := &lazy{open: m.Open}
		more, err := f(m.Name, bound(ctx, r))
		r.close()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// limited fails after maxUnpacked bytes, or when the context has ended.
type limited struct {
	r     io.Reader
	left  int64
	ended func() error
}

func bound(ctx context.Context, r io.Reader) *limited {
	return &limited{r: r, left: maxUnpacked, ended: func() error { return context.Cause(ctx) }}
}

func (b *limited) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, failure.Untrusted.Mark(fmt.Errorf("it unpacks to more than %d bytes", int64(maxUnpacked)))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// lazy opens a member of a zip archive at the first read.
type lazy struct {
	open func() (io.ReadCloser, error)
	rc   io.ReadCloser
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.rc == nil {
		rc, err := l.open()
		if err != nil {
			return 0, err
		}
		l.rc = rc
	}
	return l.rc.Read(p)
}

func (l *lazy) close() {
	if l.rc != nil {
		_ = l.rc.Close()
	}
}
