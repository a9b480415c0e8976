package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Users are the users who may own the parts of a path, and write there.
type Users struct {
	ids     []int
	volumes bool // see OnVolumes
}

// Mine returns the user of this process, and root, which can do anything.
func Mine() Users { return Users{ids: []int{os.Geteuid(), 0}} }

// Root returns root alone.
func Root() Users { return Users{ids: []int{0}} }

// OnVolumes returns the same users, but accepts a parent directory that everybody may write to if
// it is the root of a mounted volume. Kubernetes makes volumes so: a pod has no other users, and
// cannot make them sticky.
func (u Users) OnVolumes() Users {
	u.volumes = true
	return u
}

// ForeignError reports that another user could have written a file, or could replace what is below
// a directory.
type ForeignError struct {
	Path  string
	Owner int         // the uid of its owner; -1 if its mode is wrong, not its owner
	Mode  fs.FileMode // its mode
	Want  []int       // the uids that may own it
}

// Error implements error.
func (e *ForeignError) Error() string { return e.Path + " " + e.Reason() }

// Reason returns in words what is wrong with the path.
func (e *ForeignError) Reason() string {
	if e.Owner < 0 {
		return fmt.Sprintf("can be written to by others (%v)", e.Mode)
	}
	if len(e.Want) == 1 || e.Want[0] == 0 {
		return fmt.Sprintf("belongs to user %d, not to root", e.Owner)
	}
	return fmt.Sprintf("belongs to user %d, and this is user %d", e.Owner, e.Want[0])
}

// maxLinks is the number of links that a path may have: the limit of Linux.
const maxLinks = 40

// part is one name of the path that is not followed yet.
type part struct {
	name string
	link string // the link that the name comes from, "" if it comes from the path itself
	to   string // the target of that link
}

// Resolve follows an absolute path and returns its target, without links. Every part of it, links
// too, must belong to these users, and nobody else may write there. Above the target, others may
// write to a sticky directory, as /tmp is: only the owner can remove a file in it. On a file system
// that is mounted read-only neither owner nor mode matters.
//
// Errors: *ForeignError, beside the target; *DanglingError; *fs.PathError, which is fs.ErrNotExist
// if nothing is there, even if other users could write above it.
func (u Users) Resolve(path string) (string, error) {
	w, err := u.follow(path)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(w.at)
	if err != nil {
		return "", err
	}
	w.look(w.at, info, end)
	return w.at, w.foreign
}

// CheckNew checks the path of a file or directory that will be created. As far as the path exists,
// it is checked as Resolve checks parent directories. Errors: those of Resolve but fs.ErrNotExist.
func (u Users) CheckNew(path string) error {
	w, err := u.follow(path)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DanglingError))) {
		return err
	}
	return w.foreign
}

// CheckOwner checks one path and not its parents: it must belong to these users, and nobody else
// may write there. info is its Lstat. The error is a *ForeignError.
func (u Users) CheckOwner(path string, info fs.FileInfo) error { return u.check(path, info, end) }

// follow follows a path as far as it exists.
func (u Users) follow(path string) (walk, error) {
	volume, names := split(path)
	w := walk{users: u, path: path, root: volume + string(filepath.Separator)}
	w.at = w.root
	for _, name := range names {
		w.todo = append(w.todo, part{name: name})
	}
	err := w.enter(w.root, part{})
	for err == nil && len(w.todo) > 0 {
		last := len(w.todo) - 1
		next := w.todo[last]
		w.todo = w.todo[:last]
		err = w.step(next)
	}
	return w, err
}

// walk is the state of following a path.
type walk struct {
	users   Users
	path    string // as given
	root    string
	at      string // the part that was followed, without links
	todo    []part // the names to follow, the last first
	links   int
	foreign error // for the first part of another user; ignored if the target is missing
}

// step follows one name.
func (w *walk) step(next part) error {
	if next.name == ".." {
		w.at = filepath.Dir(w.at)
		return nil
	}
	return w.enter(filepath.Join(w.at, next.name), next)
}

// enter checks one path, and follows it if it is a link.
func (w *walk) enter(path string, by part) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && by.link != "":
		return &DanglingError{Path: w.path, Link: by.link, To: by.to}
	case err != nil:
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		w.look(path, info, link)
		return w.link(path)
	}
	w.at = path
	w.look(path, info, above)
	return nil
}

// look records the first part of another user.
func (w *walk) look(path string, info fs.FileInfo, at place) {
	if w.foreign == nil {
		w.foreign = w.users.check(path, info, at)
	}
}

// link adds the names of a link's target to those to follow.
func (w *walk) link(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: w.path, Err: syscall.ELOOP}
	}
	if filepath.IsAbs(to) {
		w.at = w.root
		if volume := filepath.VolumeName(to); volume != "" {
			w.at = volume + string(filepath.Separator)
		}
	}
	_, names := split(to)
	for _, name := range names {
		w.todo = append(w.todo, part{name, path, to})
	}
	return nil
}

// place is the position of a part in the path.
type place int

const (
	above place = iota // a parent directory
	link
	end // the file or directory that the path names
)

// check returns an error for a part that another user could have written.
func (u Users) check(path string, info fs.FileInfo, at place) error {
	owner, ok := ownerOf(info)
	if !ok {
		return nil // this system has no such owners and modes
	}
	var wrong *ForeignError
	mode := info.Mode()
	switch {
	case !slices.Contains(u.ids, owner) && !(at != end && unmapped(owner)):
		wrong = &ForeignError{path, owner, mode, u.ids}
	case at == link, at == above && (mode&fs.ModeSticky != 0 || u.volumes && mounted(path, info)):
		return nil
	case mode.Perm()&0o022 != 0:
		wrong = &ForeignError{path, -1, mode, u.ids}
	}
	if wrong == nil || readOnly(path) {
		return nil
	}
	return wrong
}
