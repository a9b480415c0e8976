package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
)

// KindError reports something other than a regular file: a directory, a pipe, a socket, a device.
type KindError struct {
	Path string // "" if the caller names it
	Mode fs.FileMode
}

// Error implements error.
func (e *KindError) Error() string {
	return strings.TrimPrefix(e.Path+": it is "+e.Kind()+", not a file", ": ")
}

// Kind returns the type of the file in words.
func (e *KindError) Kind() string {
	switch {
	case e.Mode.IsDir():
		return "a directory"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		return "a socket"
	case e.Mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else" // a type that Go has no name for, or a file of the kernel
}

// DanglingError reports a link to nothing.
type DanglingError struct {
	Path string // as given
	Link string // the link on it whose target is missing
	To   string // the target of the link
}

// Error implements error.
func (e *DanglingError) Error() string {
	return e.Path + ": the link " + e.Link + " leads to " + e.To + ", which is not there"
}

// Unwrap returns fs.ErrNotExist.
func (*DanglingError) Unwrap() error { return fs.ErrNotExist }

// Open opens a regular file of any owner for reading. It does not block: the file is checked after
// it is opened.
//
// Errors: *KindError, *fs.PathError.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		// A socket cannot be opened: its type is the clearer error.
		if info, serr := os.Stat(path); serr == nil && !info.Mode().IsRegular() {
			return nil, &KindError{path, info.Mode()}
		}
		return nil, err
	}
	if err := plain(path, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// BeyondError reports that a file is not in or below the directory it must be in.
type BeyondError struct {
	Path string
	Dir  string // absolute
}

// Error implements error.
func (e *BeyondError) Error() string {
	return e.Path + ": it is not in or below " + e.Dir + ", or a link on the way leads out of it"
}

// OpenBelow opens a regular file in or below a directory for reading. Both paths are absolute. The
// search begins at the open directory, so that no link leads out of it: a link is followed if it is
// relative and stays inside.
//
// Errors: *BeyondError, and those of Open.
func OpenBelow(dir, path string) (*os.File, error) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, &BeyondError{path, dir}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was opened for reading only
	f, err := root.OpenFile(rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, notBelow(dir, path, err)
	}
	if err := plain(path, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// notBelow returns why a file was not opened below a directory. A file that exists is beyond it.
func notBelow(dir, path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, serr := os.Stat(path)
	switch {
	case serr != nil:
		return serr
	case !info.Mode().IsRegular():
		return &KindError{path, info.Mode()}
	}
	return &BeyondError{path, dir}
}

func plain(path string, f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &KindError{path, info.Mode()}
	case waits(f):
		return &KindError{path, info.Mode() | fs.ModeIrregular}
	}
	return nil
}

var errExchanged = errors.New("it was exchanged while it was looked at")

// Open opens a regular file that only these users could have written or created.
//
// Errors: those of Resolve, *KindError, *fs.PathError.
func (u Users) Open(path string) (*os.File, error) {
	real, err := u.Resolve(path)
	if real != "" { // the wrong type is reported before the wrong owner
		if info, serr := os.Lstat(real); serr == nil && !info.Mode().IsRegular() {
			return nil, &KindError{path, info.Mode()}
		}
	}
	if err != nil {
		return nil, err
	}
	f, err := Open(real)
	if kind := (*KindError)(nil); errors.As(err, &kind) {
		kind.Path = path
	}
	if err != nil {
		return nil, err
	}
	if err := u.same(real, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// same checks that the open file is the one at the path, and belongs to these users.
func (u Users) same(real string, f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, there) {
		return &fs.PathError{Op: "open", Path: real, Err: failure.Untrusted.Mark(errExchanged)}
	}
	return u.check(real, opened, end)
}

// split returns the names of a path, the last first, without the volume. It does not clean the
// path: the name before a ".." may be a link.
func split(path string) (volume string, names []string) {
	volume = filepath.VolumeName(path)
	for name := range strings.FieldsFuncSeq(path[len(volume):], separates) {
		if name != "." {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return volume, names
}

func separates(r rune) bool { return r == '/' || r == filepath.Separator }
