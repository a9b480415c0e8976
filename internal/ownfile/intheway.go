package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// InTheWayError says that something stands where a file is to be written that is no file.
type InTheWayError struct {
	Path string
	Mode fs.FileMode
}

func (e *InTheWayError) Error() string {
	kind := (&KindError{Mode: e.Mode}).Kind()
	if e.Mode&fs.ModeSymlink != 0 {
		kind = "a link"
	}
	return e.Path + " is " + kind + ", and stands where a file is to be written: nothing is written through it"
}

// Free looks whether a file can be put at a path whose name nobody chose who knows what is
// there: it returns what a file there allows to whom, or 0 for none. What is no file is an
// error, a link too, wherever it leads, and so is the file of another user that cannot be replaced.
//
// Errors: *InTheWayError, *fs.PathError.
func Free(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, &InTheWayError{path, info.Mode()}
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err == nil && dir.Mode()&fs.ModeSticky != 0 && !mayReplace(os.Geteuid(), info, dir) {
		err = &fs.PathError{Op: "replace", Path: path, Err: fs.ErrPermission}
	}
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// mayReplace tells whether a user may put another file in the place of one in a directory such as
// /tmp, where only its owner may, and that of the directory.
func mayReplace(uid int, file, dir fs.FileInfo) bool {
	of, known := ownerOf(file)
	above, _ := ownerOf(dir)
	return !known || uid == 0 || uid == of || uid == above
}
