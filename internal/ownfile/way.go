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

// Users are who may own what a path leads through, and write there.
type Users struct {
	ids     []int
	volumes bool // see OnVolumes
}

// Mine are the user of this process, and root: who is root can do anything anyway.
func Mine() Users { return Users{ids: []int{os.Geteuid(), 0}} }

// Root is root alone.
func Root() Users { return Users{ids: []int{0}} }

// OnVolumes are these users, and everybody may write to the directory of a volume that is
// mounted above what is looked at: so Kubernetes makes them, for who is alone in a pod, and
// nobody there could make them sticky.
func (u Users) OnVolumes() Users {
	u.volumes = true
	return u
}

// ForeignError says that somebody else could have written something, or could exchange
// what lies below it.
type ForeignError struct {
	Path  string
	Owner int         // whom it belongs to; -1 where its mode is what is wrong
	Mode  fs.FileMode // its mode
	Want  []int       // whose it may be
}

func (e *ForeignError) Error() string { return e.Path + " " + e.Reason() }

// Reason is what is wrong with the path, for people.
func (e *ForeignError) Reason() string {
	if e.Owner < 0 {
		return fmt.Sprintf("can be written to by others (%v)", e.Mode)
	}
	if len(e.Want) == 1 || e.Want[0] == 0 {
		return fmt.Sprintf("belongs to user %d, not to root", e.Owner)
	}
	return fmt.Sprintf("belongs to user %d, and this is user %d", e.Owner, e.Want[0])
}

// maxLinks is how many links a path may lead through: what Linux follows.
const maxLinks = 40

// part is one name on the way that is still to go.
type part struct {
	name string
	link string // which brought it in, "" where it was asked for
	to   string // what stands in that link
}

// Way follows an absolute path to where it leads, which has no links in it. Everything on
// the way, links too, belongs to these users, and nobody else can write there. Of
// directories that are sticky, as /tmp is, others may write to those above: what stands in
// them is nobody's to remove but its owner's. Nothing said by an owner or a mode counts
// where the file system is mounted read-only.
//
// Errors: *ForeignError, beside where it leads; *DanglingError; *fs.PathError, which is fs.ErrNotExist where
// nothing is there, whoever could write above it.
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

// Room looks at the way to where something is to be made, as far as that is there: what Way
// looks at above what is missing. Errors: those of Way but fs.ErrNotExist.
func (u Users) Room(path string) error {
	w, err := u.walk(path)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DanglingError))) {
		return err
	}
	return w.foreign
}

// Own is Way for what stands at a path itself: it is these users', and nobody else can write
// there. info is what Lstat says of it. The error is a *ForeignError.
func (u Users) Own(path string, info fs.FileInfo) error { return u.check(path, info, end) }

// walk goes along a path, as far as it is there.
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

// way is the going along a path.
type way struct {
	users   Users
	path    string // as asked for
	root    string
	at      string // where it has come to: no links in it
	todo    []part // the names still to go, the last first
	links   int
	foreign error // the first thing that is somebody else's: nothing matters where the end is not there
}

// step goes on by one name.
func (w *way) step(next part) error {
	if next.name == ".." {
		w.at = filepath.Dir(w.at)
		return nil
	}
	return w.enter(filepath.Join(w.at, next.name), next)
}

// enter looks at one path: a link is followed, anything else is come to.
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

// look keeps the first thing that is somebody else's.
func (w *way) look(path string, info fs.FileInfo, at place) {
	if w.foreign == nil {
		w.foreign = w.users.check(path, info, at)
	}
}

// follow takes the place that a link names into the way.
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

// place is where on a way something stands.
type place int

const (
	above place = iota // a directory
	link
	end // what the path is for, be it a file or a directory
)

// check refuses what somebody else could have written.
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
