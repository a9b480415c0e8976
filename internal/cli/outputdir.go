package cli

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// outputFile is a file in or below an output directory. Its name is not the user's choice.
type outputFile struct {
	name string // a relative path, which does not lead out of the directory
	data []byte
}

// writeFiles writes files into a directory: all of them, or none if one cannot be written or the
// command is interrupted. A link, a pipe or the like at the place of a file, or of a directory
// below dir, is an error: the user named the directory, not what the link leads to. ended reports
// whether the command is interrupted. It is called before each file.
func (e *env) writeFiles(dir string, files []outputFile, ended func() error) (err error) {
	modes := make([]fs.FileMode, len(files))
	below, err := dirsBelow(dir, files)
	if err != nil {
		return err
	}
	for i, f := range files {
		path := filepath.Join(dir, f.name)
		mode, err := ownfile.Free(path)
		switch {
		case errors.As(err, new(*ownfile.InTheWayError)):
			return err
		case err != nil:
			return &notThereError{path: path, err: err}
		case mode == 0:
			mode = newFileMode
		}
		modes[i] = mode
	}
	defer e.Leave.Hold()() // so that all are put in place, and the temporary files removed
	undo, err := makeDirs(below)
	defer func() { undo(err != nil) }()
	if err != nil {
		return err
	}
	beside := make([]string, 0, len(files))
	defer func() {
		for _, tmp := range beside {
			_ = os.Remove(tmp) // there are none if all were put in place
		}
	}()
	for i, f := range files {
		if err := ended(); err != nil {
			return err
		}
		path := filepath.Join(dir, f.name)
		tmp, err := scratch.File{Path: path, Mode: modes[i], Output: true}.Stage(f.data)
		if err != nil {
			return &notThereError{path: path, err: err}
		}
		beside = append(beside, tmp)
	}
	return putAll(dir, files, beside)
}

// dirsBelow returns the directories below dir that the files need and that do not exist, outer ones
// first. Anything but a directory in the place of one is an error.
func dirsBelow(dir string, files []outputFile) ([]string, error) {
	var missing []string
	seen := map[string]bool{".": true}
	for _, f := range files {
		name := ""
		for part := range strings.SplitSeq(filepath.Dir(f.name), string(filepath.Separator)) {
			if name = filepath.Join(name, part); seen[name] {
				continue
			}
			seen[name] = true
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				missing = append(missing, path)
			case err != nil:
				return nil, &notThereError{path: path, err: err}
			case !info.IsDir():
				return nil, &ownfile.InTheWayError{Path: path, Mode: info.Mode(), Dir: true}
			}
		}
	}
	return missing, nil
}

// makeDirs makes directories. undo removes them again, if they are empty.
func makeDirs(paths []string) (undo func(failed bool), err error) {
	made := 0
	undo = func(failed bool) {
		for i := made - 1; failed && i >= 0; i-- {
			_ = os.Remove(paths[i])
		}
	}
	for _, path := range paths {
		if err := os.Mkdir(path, newDirMode); err != nil {
			return undo, &notThereError{path: path, err: err}
		}
		made++
	}
	return undo, nil
}

// newDirMode is the mode of a new directory, before the umask.
const newDirMode fs.FileMode = 0o777

// putAll renames temporary files to their names. If one cannot be renamed, because the old file
// belongs to another user in a directory like /tmp or is mounted, the old files are restored.
func putAll(dir string, files []outputFile, beside []string) (err error) {
	put := make([]placed, 0, len(files))
	defer func() {
		for _, p := range put {
			if err != nil {
				p.takeBack()
			}
			p.forget()
		}
	}()
	for i, f := range files {
		p := keep(filepath.Join(dir, f.name))
		if err := os.Rename(beside[i], p.path); err != nil {
			p.forget()
			return &notThereError{path: p.path, err: err}
		}
		put = append(put, p)
	}
	return nil
}

// placed is a file that was renamed to its name.
type placed struct {
	path string
	was  string // a hard link to the old file, "" for none
	new  bool   // there was no old file
}

// keep makes a hard link to the old file, if the file system has hard links.
func keep(path string) placed {
	was := filepath.Join(filepath.Dir(path), scratch.TempPrefix+rand.Text())
	if err := os.Link(path, was); err != nil {
		return placed{path: path, new: errors.Is(err, fs.ErrNotExist)}
	}
	return placed{path: path, was: was}
}

// takeBack restores the old file.
func (p placed) takeBack() {
	switch {
	case p.was != "":
		_ = os.Rename(p.was, p.path)
	case p.new:
		_ = os.Remove(p.path)
	}
}

// forget removes the hard link.
func (p placed) forget() {
	if p.was != "" {
		_ = os.Remove(p.was)
	}
}
