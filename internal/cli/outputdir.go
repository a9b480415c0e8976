package cli

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// outputFile is one of the files that krmcat writes into a directory, under a name that the
// user did not choose.
type outputFile struct {
	name string
	data []byte
}

// writeFiles writes files into a directory: all of them or, where one cannot be written or the
// command is to end, none. What is no file and stands in the way of one of them, a link or a pipe,
// is neither followed nor written to, wherever it leads: the user has named the directory, and not
// this. Then none is written. ended is asked before each whether the command is to end.
func (e *env) writeFiles(dir string, files []outputFile, ended func() error) error {
	modes := make([]fs.FileMode, len(files))
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
	defer e.Leave.Hold()() // all are put in place, and nothing is left beside them
	beside := make([]string, 0, len(files))
	defer func() {
		for _, tmp := range beside {
			_ = os.Remove(tmp) // gone already where all went well
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

// putAll gives files that were written beside their places their names. Where one cannot have it, the
// others are as they were: a file may be another user's in a directory like /tmp, or mounted.
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

// placed is a file that was put in its place.
type placed struct {
	path string
	was  string // a second name of what was there, "" for none
	new  bool   // nothing was there
}

// keep gives what is at a path a second name. A file system that has no such names keeps nothing.
func keep(path string) placed {
	was := filepath.Join(filepath.Dir(path), scratch.TempPrefix+rand.Text())
	if err := os.Link(path, was); err != nil {
		return placed{path: path, new: errors.Is(err, fs.ErrNotExist)}
	}
	return placed{path: path, was: was}
}

// takeBack has at the path what was there.
func (p placed) takeBack() {
	switch {
	case p.was != "":
		_ = os.Rename(p.was, p.path)
	case p.new:
		_ = os.Remove(p.path)
	}
}

// forget removes the second name.
func (p placed) forget() {
	if p.was != "" {
		_ = os.Remove(p.was)
	}
}
