package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// Apply writes the files: all of them or, if there is an error, none. The new contents are written
// beside them first, in the same directory, then a journal, and then they are renamed into their
// places. If the process is killed in between, Recover restores the old files. Another process that
// changes the directory in this way is waited for.
//
// The mode of a file stays. Its owner stays, or nothing is written. A file with several names, hard
// links, is refused: only one of them would change.
//
// Errors: *ConflictError for a file that is not as it was read, failure.NotPermitted,
// *RecoverError, *fs.PathError, that of ctx.
func (c *Change) Apply(ctx context.Context) error {
	if len(c.files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(c.tree.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	s, err := openState(ctx, root, true)
	if err != nil {
		return err
	}
	_, err = s.undo()
	if err == nil {
		err = s.sweep()
	}
	if err != nil {
		s.close()
		return err
	}
	a := &applier{Change: c, state: s}
	if a.step == nil {
		a.step = func(string) {}
	}
	if err := a.apply(ctx); err != nil {
		return errors.Join(err, a.abandon())
	}
	// The journal is gone, so the change is there: what is left is swept by the next one.
	_ = s.remove()
	return nil
}

// applier writes one change.
type applier struct {
	*Change
	state   *state
	journal journal
}

func (a *applier) apply(ctx context.Context) error {
	if err := a.check(ctx); err != nil {
		return err
	}
	if err := a.stage(ctx); err != nil {
		return err
	}
	a.step("journal")
	if err := a.state.writeJournal(a.journal); err != nil {
		return err
	}
	if err := a.rename(ctx); err != nil {
		return err
	}
	a.step("end")
	return a.state.end()
}

// abandon restores the directory after an error.
func (a *applier) abandon() error {
	if _, err := a.state.undo(); err != nil {
		a.state.close()
		return err
	}
	return a.state.remove()
}

// check compares the files with those that were read.
func (a *applier) check(ctx context.Context) error {
	for _, w := range a.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := a.state.root.Lstat(w.path)
		switch {
		case w.before == nil && errors.Is(err, fs.ErrNotExist):
			continue
		case w.before == nil && err == nil:
			return &ConflictError{w.path, "was made by another program since the directory was read"}
		case w.before != nil && errors.Is(err, fs.ErrNotExist):
			return &ConflictError{w.path, "was removed by another program since it was read"}
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return &ConflictError{w.path, "is no longer a file"}
		case names(info) > 1:
			return failure.NotPermitted.Mark(fmt.Errorf("%s has %d names (hard links), and only this one would change: nothing was written, make it a file of its own", w.path, names(info)))
		}
		same := info.Size() == int64(len(w.before.data))
		if same {
			data, err := a.state.root.ReadFile(w.path)
			if err != nil {
				return err
			}
			same = bytes.Equal(data, w.before.data)
		}
		if !same {
			return &ConflictError{w.path, "was changed by another program since it was read"}
		}
	}
	return nil
}

// stage writes the new contents, and keeps the old files by a second name.
func (a *applier) stage(ctx context.Context) error {
	many := len(a.files) > syncOne
	for i, w := range a.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.step("stage")
		o := op{Path: w.path}
		plan := filePlan{mode: w.mode, sync: !many}
		if w.before != nil {
			info, err := a.state.root.Lstat(w.path)
			if err != nil {
				return err
			}
			plan.mode, plan.exact, plan.like = info.Mode().Perm(), true, info
			o.Before = digest(w.before.data)
			if err := a.keep(i, w, plan); err != nil {
				return err
			}
		}
		if !w.remove {
			o.After = digest(w.data)
			if err := a.state.write(newName(i), w.data, plan); err != nil {
				return fmt.Errorf("writing %s: %w", w.path, err)
			}
		}
		a.journal.Ops = append(a.journal.Ops, o)
	}
	var err error
	if a.journal.Dirs, err = a.newDirs(); err != nil || !many {
		return err
	}
	return syncAll(a.state.in)
}

// keep gives a file a second name. It copies the file where the system has no such names.
func (a *applier) keep(i int, w written, plan filePlan) error {
	name := oldName(i)
	if err := a.state.root.Remove(path.Join(stateDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := a.state.root.Link(w.path, path.Join(stateDir, name))
	switch {
	case err == nil:
		return nil
	case otherVolume(err):
		return fmt.Errorf("%s is on another file system than %s, and cannot be written together with the rest: %w", w.path, a.tree.dir, err)
	}
	return a.state.write(name, w.before.data, plan)
}

// newDirs returns the directories that are missing, one before those in it.
func (a *applier) newDirs() ([]string, error) {
	var dirs []string
	for _, w := range a.files {
		at := ""
		names := strings.Split(w.path, "/")
		for _, name := range names[:len(names)-1] {
			at = path.Join(at, name)
			info, err := a.state.root.Lstat(at)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				if !slices.Contains(dirs, at) {
					dirs = append(dirs, at)
				}
			case err != nil:
				return nil, err
			case !info.IsDir():
				return nil, &ownfile.InTheWayError{Path: at, Mode: info.Mode()}
			}
		}
	}
	return dirs, nil
}

// rename puts the new contents into their places.
func (a *applier) rename(ctx context.Context) error {
	for _, dir := range a.journal.Dirs {
		a.step("mkdir")
		if err := a.state.root.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for i, w := range a.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.step("rename")
		var err error
		if w.remove {
			err = a.state.root.Remove(w.path)
		} else {
			err = a.state.root.Rename(path.Join(stateDir, newName(i)), w.path)
		}
		if err != nil {
			return err
		}
	}
	a.step("sync")
	return a.state.syncParents(a.journal)
}

// syncParents makes the new names survive a loss of power.
func (s *state) syncParents(j journal) error {
	if len(j.Ops) > syncOne {
		return syncAll(s.in)
	}
	done := map[string]bool{}
	for _, o := range j.Ops {
		dir := path.Dir(o.Path)
		if done[dir] {
			continue
		}
		done[dir] = true
		if err := syncDir(s.root, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// end ends a change: without a journal, nothing is undone.
func (s *state) end() error {
	if err := s.in.Remove(journalName); err != nil {
		return err
	}
	return syncDir(s.in, ".")
}

// syncOne is the number of files that are synced one by one. For more, the file system is synced as
// a whole, which takes one wait.
const syncOne = 16

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
