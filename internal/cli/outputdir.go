package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// outputFile is one of the files that krmcat writes into a directory, under a name that the
// user did not choose.
type outputFile struct {
	name string
	data []byte
}

// writeFiles writes files into a directory. What is no file and stands in the way of one of
// them, a link or a pipe, is neither followed nor written to, wherever it leads: the user has
// named the directory, and not this. Then none is written.
func (e *env) writeFiles(dir string, files []outputFile) error {
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
	for i, f := range files {
		path := filepath.Join(dir, f.name)
		if err := e.replace(path, f.data, modes[i]); err != nil {
			return &notThereError{path: path, err: err}
		}
	}
	return nil
}
