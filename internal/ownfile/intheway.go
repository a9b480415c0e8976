package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// InTheWayError reports that something other than a regular file is where a file must be written,
// or something other than a directory where files must be.
type InTheWayError struct {
	Path string
	Mode fs.FileMode
	Dir  bool // a directory is needed
}

// Error implements error.
func (e *InTheWayError) Error() string {
	kind := (&KindError{Mode: e.Mode}).Kind()
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		kind = "a link"
	case e.Mode.IsRegular():
		kind = "a file"
	}
	if e.Dir {
		return e.Path + " is " + kind + ", and stands where a directory is needed: nothing is written through it"
	}
	return e.Path + " is " + kind + ", and stands where a file is to be written: nothing is written through it"
}

// Free checks whether a file can be written at a path. It returns the mode of a file that exists
// there, 0 for none. Anything but a regular file, a link too, is an error. So is a file of another
// user that cannot be replaced.
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
		return 0, &InTheWayError{Path: path, Mode: info.Mode()}
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

// mayReplace reports whether a user may replace a file in a sticky directory such as /tmp, where
// only its owner and that of the directory may.
func mayReplace(uid int, file, dir fs.FileInfo) bool {
	of, known := ownerOf(file)
	above, _ := ownerOf(dir)
	return !known || uid == 0 || uid == of || uid == above
}
