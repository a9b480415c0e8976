package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// prefix is the prefix of the names of directories of this package.
const prefix = "krmcat-"

// Dir is a directory that only this user can read.
type Dir struct {
	Path  string // absolute
	above string // directory for directories of this package only, "" for none
	lock  *os.File
}

// Error reports that a directory could not be made.
type Error struct {
	In  string // the directory for temporary files
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	why := e.Err
	var at *fs.PathError // a path that the user does not know
	if errors.As(why, &at) {
		why = at.Err
	}
	return "no temporary directory can be made in " + e.In + ": " + why.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Make makes a directory in a directory for temporary files, "" for the system's, and removes the
// directories that killed processes left there. Programs are started from it, so no other user may
// be able to exchange it: a directory where others can is refused, unless it is sticky, as /tmp is,
// or a volume. The error is an *Error. It wraps an *ownfile.ForeignError in that case.
func Make(in string) (*Dir, error) {
	in, err := Place(in)
	if err != nil {
		return nil, err
	}
	if d := makeLocked(in); d != nil {
		return d, nil
	}
	path, err := os.MkdirTemp(in, prefix)
	if err != nil {
		return nil, &Error{in, err}
	}
	return &Dir{Path: path}, nil
}

// Below makes a directory with the prefix begins in a directory of this user, for content that is
// renamed into its place. It removes the directories of this prefix that killed processes left
// there. On a system without locks it removes none.
func Below(dir, begins string) (*Dir, error) {
	if d := makeBelow(dir, begins); d != nil {
		return d, nil
	}
	path, err := os.MkdirTemp(dir, begins)
	if err != nil {
		return nil, err
	}
	return &Dir{Path: path}, nil
}

// Place returns a directory for temporary files, "" for the system's, that no other user can
// exchange. Its errors are those of Make.
func Place(in string) (string, error) {
	if in == "" {
		in = os.TempDir()
	}
	if !filepath.IsAbs(in) { // others, such as plugins of kustomize, have another working directory
		return "", &Error{in, errors.New("it is not an absolute path")}
	}
	var foreign *ownfile.ForeignError
	if errors.As(ownfile.Mine().OnVolumes().CheckNew(in), &foreign) {
		return "", &Error{in, foreign}
	}
	return in, nil
}

// Remove removes the directory and its content.
func (d *Dir) Remove() {
	_ = os.RemoveAll(d.Path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if d.above != "" {
		_ = os.Remove(d.above) // fails if other directories are in it
	}
}
