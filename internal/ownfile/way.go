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

// Mine are the user of this process, and root, which can do anything.
func Mine() Users { return Users{ids: []int{os.Geteuid(), 0}} }

// Root is root alone.
func Root() Users { return Users{ids: []int{0}} }

// OnVolumes are these users, and allows a directory above that everybody may write to if it is the
// root of a mounted volume. Kubernetes makes volumes so: a pod has no other users, and cannot make
// them sticky.
func (u Users) OnVolumes() Users {
	u.volumes = true
	return u
}

// ForeignError reports that another user could have written a file, or could replace what is below
// a directory.
type ForeignError struct {
	Path  string
	Owner int         // whom it belongs to; -1 where its mode is what is wrong
	Mode  fs.FileMode // its mode
	Want  []int       // whose it may be
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

// part is one name of the path that is still to be followed.
type part struct {
	name string
	link string // which brought it in, "" where it was asked for
	to   string // what stands in that link
}

// Way follows an absolute path and returns its target, without links. Every part of it, links too,
// must belong to these users, and nobody else may write there. Above the target, others may write
// to a sticky directory, as /tmp is: only the owner can remove a file in it. On a file system that
// is mounted read-only neither owner nor mode matters.
//
// Errors: *ForeignError, beside the target; *DanglingError; *fs.PathError, which is fs.ErrNotExist
// if nothing is there, whoever could write above it.
func (u Users) Way(path string) (string, error) {
	w, err := u.walk(path)
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

// Room checks a path where something will be made, as far as it exists, as Way checks what is above
// a target. Errors: those of Way but fs.ErrNotExist.
func (u Users) Room(path string) error {
	w, err := u.walk(path)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DanglingError))) {
		return err
	}
	return w.foreign
}

// Own is Way for the path itself: it must belong to these users, and nobody else may write there.
// info is its Lstat. The error is a *ForeignError.
func (u Users) Own(path string, info fs.FileInfo) error { return u.check(path, info, end) }

// walk follows a path as far as it exists.
func (u Users) walk(path string) (way, error) {
	volume, names := split(path)
	w := way{users: u, path: path, root: volume + string(filepath.Separator)}
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

// way is the state of following a path.
type way struct {
	users   Users
	path    string // as asked for
	root    string
	at      string // where it has come to: no links in it
	todo    []part // the names still to go, the last first
	links   int
	foreign error // the first thing that is somebody else's: nothing matters where the end is not there
}

// step follows one name.
func (w *way) step(next part) error {
	if next.name == ".." {
		w.at = filepath.Dir(w.at)
		return nil
	}
	return w.enter(filepath.Join(w.at, next.name), next)
}

// enter looks at one path. It follows a link, and stops at anything else.
func (w *way) enter(path string, by part) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && by.link != "":
		return &DanglingError{Path: w.path, Link: by.link, To: by.to}
	case err != nil:
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		w.look(path, info, link)
		return w.follow(path)
	}
	w.at = path
	w.look(path, info, above)
	return nil
}

// look keeps the first part of another user.
func (w *way) look(path string, info fs.FileInfo, at place) {
	if w.foreign == nil {
		w.foreign = w.users.check(path, info, at)
	}
}

// follow puts the target of a link into the path.
func (w *way) follow(path string) error {
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
	above place = iota // a directory
	link
	end // what the path is for, be it a file or a directory
)

// check refuses what another user could have written.
func (u Users) check(path string, info fs.FileInfo, at place) error {
	owner, ok := ownerOf(info)
	if !ok {
		return nil // no such owners and modes here
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
