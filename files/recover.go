package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// RecoverError reports a change that was interrupted and cannot be undone, since files are neither
// what they were before it nor what it made of them.
type RecoverError struct {
	Dir   string
	Files []string // relative to it
}

// Error implements error.
func (e *RecoverError) Error() string {
	return fmt.Sprintf("a change of %s was interrupted, and is not undone since other programs have changed %s: its earlier files are in %s; restore what is needed, and remove that directory",
		e.Dir, strings.Join(e.Files, ", "), filepath.Join(e.Dir, stateDir))
}

// Recover undoes a change of a directory that was interrupted, so that all its files are as they
// were before. It returns the files that it restored, none if there is nothing to undo, and waits
// for another process that is writing a change. Read does the same.
//
// Errors: *RecoverError, failure.Untrusted for a journal that was not made here.
func Recover(ctx context.Context, dir string) ([]string, error) {
	dir, err := resolved(dir)
	if err != nil {
		return nil, err
	}
	return recoverIn(ctx, dir)
}

// undone is the files that were restored.
type undone []string

func (u undone) notes() []string {
	if len(u) == 0 {
		return nil
	}
	const few = 3
	list := strings.Join(u[:min(len(u), few)], ", ")
	if len(u) > few {
		list += fmt.Sprintf(" and %d more", len(u)-few)
	}
	return []string{"an earlier change was interrupted, and is undone: restored " + list}
}

func recoverIn(ctx context.Context, dir string) (undone, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(path.Join(stateDir, journalName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := openState(ctx, root, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the process that wrote it has ended
	}
	if err != nil {
		return nil, err
	}
	list, err := s.undo()
	if err != nil {
		s.close()
		return nil, err
	}
	return list, s.remove()
}

// undo restores what the journal says. Without a journal it does nothing. It can be repeated if it
// is interrupted itself.
func (s *state) undo() (undone, error) {
	j, err := s.readJournal()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := make([]string, len(j.Ops))
	foreign := &RecoverError{Dir: s.root.Name()}
	for i, o := range j.Ops {
		if now[i], err = s.digestOf(o.Path); err != nil {
			return nil, err
		}
		if now[i] != "" && now[i] != o.Before && now[i] != o.After {
			foreign.Files = append(foreign.Files, o.Path)
		}
	}
	if len(foreign.Files) > 0 {
		return nil, foreign
	}
	var restored undone
	for i, o := range slices.Backward(j.Ops) {
		switch {
		case now[i] == o.Before:
			continue
		case o.Before == "":
			err = s.root.Remove(o.Path)
		default:
			err = s.root.Rename(path.Join(stateDir, oldName(i)), o.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("restoring %s: %w", o.Path, err)
		}
		restored = append(restored, o.Path)
	}
	for _, dir := range slices.Backward(j.Dirs) {
		_ = s.root.Remove(dir) // it fails if another program has put something there
	}
	if err := s.syncParents(*j); err != nil {
		return nil, err
	}
	slices.Sort(restored)
	return restored, s.end()
}

// digestOf returns the digest of a file, "" if there is none.
func (s *state) digestOf(p string) (string, error) {
	info, err := s.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "no file", nil
	}
	f, err := s.root.Open(p)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
