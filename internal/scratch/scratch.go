package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// prefix begins the names of what is made in the place for temporary files.
const prefix = "krmcat-"

// Dir is a directory that only this user can read.
type Dir struct {
	Path  string // absolute
	above string // what only directories like this one stand in, "" for none
	lock  *os.File
}

// Error says that no directory could be made.
type Error struct {
	In  string // where: the place for temporary files
	Err error
}

func (e *Error) Error() string {
	why := e.Err
	var at *fs.PathError // of something that a person never asked for
	if errors.As(why, &at) {
		why = at.Err
	}
	return "no temporary directory can be made in " + e.In + ": " + why.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Make makes a directory in a place for temporary files, the system's where it is empty,
// and removes what processes that were killed left there. Programs are started from it, so
// that nobody else may be able to exchange it: a place where others can is refused, unless it
// is sticky, as /tmp is, or a volume. The error is an *Error, of an *ownfile.ForeignError then.
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

// Below makes a directory whose name begins with begins in one that is this user's alone, for what
// gets its place by a rename, and removes the like of it that processes that were killed left there.
// Where the system has no locks nothing is removed.
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

// Place is a place for temporary files, the system's where it is empty, that nobody else could
// exchange. The error is that of Make.
func Place(in string) (string, error) {
	if in == "" {
		in = os.TempDir()
	}
	if !filepath.IsAbs(in) { // others, such as kustomize's plugins, have another working directory
		return "", &Error{in, errors.New("it is not an absolute path")}
	}
	var foreign *ownfile.ForeignError
	if errors.As(ownfile.Mine().OnVolumes().Room(in), &foreign) {
		return "", &Error{in, foreign}
	}
	return in, nil
}

// Remove removes the directory and all that is in it.
func (d *Dir) Remove() {
	_ = os.RemoveAll(d.Path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if d.above != "" {
		_ = os.Remove(d.above) // which fails where others are in it
	}
}
