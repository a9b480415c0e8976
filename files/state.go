package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// stateDir is the directory, in the one that is changed, that holds a change while it is written:
// new contents, the old files, and the journal. It is on the same file system, so that a rename is
// enough.
const stateDir = ".krmcat-change"

// The names in stateDir.
const (
	journalName = "journal"
	lockName    = "lock"
)

// state is a stateDir that this process has locked.
type state struct {
	root   *os.Root // the directory that is changed
	in     *os.Root // stateDir
	unlock func()
}

// openState opens and locks the stateDir of a directory. It waits for another process that holds
// the lock. Without make, the error is fs.ErrNotExist if there is none.
func openState(ctx context.Context, root *os.Root, make bool) (*state, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if make {
			if err := root.Mkdir(stateDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("nothing can be written to %s: %w", root.Name(), err)
			}
		}
		s, err := lockState(ctx, root)
		if make && errors.Is(err, fs.ErrNotExist) {
			continue // another process has just removed it
		}
		return s, err
	}
}

// lockState opens and locks a stateDir that exists.
func lockState(ctx context.Context, root *os.Root) (*state, error) {
	info, err := root.Lstat(stateDir)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(root.Name(), stateDir)
	if !info.IsDir() {
		return nil, failure.NotPermitted.Mark(fmt.Errorf("%s is not a directory, and a change is written there: remove it", at))
	}
	if err := ownfile.Mine().CheckOwner(at, info); err != nil {
		return nil, failure.NotPermitted.Mark(fmt.Errorf("a change is written in a directory of one's own alone: %w", err))
	}
	in, err := root.OpenRoot(stateDir)
	if err != nil {
		return nil, err
	}
	unlock, err := scratch.LockIn(ctx, in, lockName)
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("locking %s: %w", at, err)
	}
	s := &state{root: root, in: in, unlock: unlock}
	opened, err := in.Stat(".")
	now, nowErr := root.Lstat(stateDir)
	if err := errors.Join(err, nowErr); err != nil || !os.SameFile(opened, now) {
		s.close()
		return nil, fs.ErrNotExist
	}
	return s, nil
}

// close ends the lock, and leaves the directory as it is.
func (s *state) close() {
	s.unlock()
	_ = s.in.Close()
}

// remove removes the directory, which has no journal, and ends the lock.
func (s *state) remove() error {
	err := s.root.RemoveAll(stateDir)
	s.close()
	return err
}

// sweep removes what a process left that was killed before its journal was written, or after it was
// removed. It is a second name of files that may change now.
func (s *state) sweep() error {
	dir, err := s.in.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != lockName {
			err = errors.Join(err, s.in.RemoveAll(name))
		}
	}
	return err
}

// journal is what has to be known to undo a change.
type journal struct {
	Version int      `json:"version"`
	Place   string   `json:"place"` // what tells this stateDir from a copy of it
	Ops     []op     `json:"ops"`
	Dirs    []string `json:"dirs,omitempty"` // that the change makes, one before those in it
}

// op is the change of one file. Its old content is in old-N, its new one in new-N before the
// rename.
type op struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"` // the digest of the old content; "" for a new file
	After  string `json:"after,omitempty"`  // the digest of the new one; "" for one that is removed
}

const journalVersion = 1

func oldName(i int) string { return "old-" + strconv.Itoa(i) }
func newName(i int) string { return "new-" + strconv.Itoa(i) }

// writeJournal writes the journal. From then on the change is undone if it does not end.
func (s *state) writeJournal(j journal) error {
	j.Version = journalVersion
	var err error
	if j.Place, err = s.place(); err != nil {
		return err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	const temp = "journal.new"
	if err := s.write(temp, data, filePlan{mode: 0o600, sync: true}); err != nil {
		return err
	}
	if err := s.in.Rename(temp, journalName); err != nil {
		return err
	}
	return syncDir(s.in, ".")
}

// maxJournal bounds the journal, in bytes.
const maxJournal = 1 << 30

// readJournal reads the journal. The error is fs.ErrNotExist if there is none. One that was made
// elsewhere is refused: it came with the content of the directory, and would let that change files.
func (s *state) readJournal() (*journal, error) {
	f, err := s.in.Open(journalName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	at := path.Join(filepath.ToSlash(s.root.Name()), stateDir)
	data, err := bounded.Read(f, maxJournal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(at, journalName), err)
	}
	j := &journal{}
	if err := json.Unmarshal(data, j); err != nil || j.Version != journalVersion {
		return nil, failure.Untrusted.Mark(fmt.Errorf("%s cannot be read: look at the files beside it, and remove %s", path.Join(at, journalName), at))
	}
	for _, o := range j.Ops {
		if why := refused(o.Path); why != "" || !filepath.IsLocal(filepath.FromSlash(o.Path)) {
			return nil, failure.Untrusted.Mark(fmt.Errorf("%s names the file %q: remove %s", path.Join(at, journalName), o.Path, at))
		}
	}
	for _, dir := range j.Dirs {
		if !filepath.IsLocal(filepath.FromSlash(dir)) {
			return nil, failure.Untrusted.Mark(fmt.Errorf("%s names the directory %q: remove %s", path.Join(at, journalName), dir, at))
		}
	}
	if place, err := s.place(); err != nil || place != j.Place {
		return nil, errors.Join(err, failure.Untrusted.Mark(fmt.Errorf("%s was made in another place, and is not trusted: remove %s", path.Join(at, journalName), at)))
	}
	return j, nil
}

// filePlan is how a file of the state is written.
type filePlan struct {
	mode  fs.FileMode
	exact bool // the mode does not depend on the umask
	like  fs.FileInfo
	sync  bool
}

// write writes a file of the state.
func (s *state) write(name string, data []byte, p filePlan) error {
	f, err := s.in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, p.mode)
	if errors.Is(err, fs.ErrExist) { // a killed process left it
		if err := s.in.Remove(name); err != nil {
			return err
		}
		f, err = s.in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, p.mode)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && p.like != nil {
		err = chownLike(f, p.like)
	}
	if err == nil && p.exact {
		err = f.Chmod(p.mode)
	}
	if err == nil && p.sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names in a directory survive a loss of power, where the system can.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
