package files

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Change is what files have to become.
type Change struct {
	tree  *Tree
	files []written // by path
	step  func(name string)
}

// written is a file that changes.
type written struct {
	path   string
	before *file // nil for a new one
	data   []byte
	mode   fs.FileMode
	remove bool
}

// File is a file that changes.
type File struct {
	Path   string // relative to the directory, with slashes
	Before []byte // nil for a new file
	After  []byte // nil for one that is removed
}

// Files returns the files that change, by path.
func (c *Change) Files() []File {
	var out []File
	for _, w := range c.files {
		f := File{Path: w.path}
		if w.before != nil {
			f.Before = append([]byte{}, w.before.data...)
		}
		if !w.remove {
			f.After = append([]byte{}, w.data...)
		}
		out = append(out, f)
	}
	return out
}

// Diff returns the change in the unified format, "" if nothing changes.
func (c *Change) Diff() string {
	var out strings.Builder
	for _, f := range c.Files() {
		before, after := "a/"+f.Path, "b/"+f.Path
		if f.Before == nil {
			before = "/dev/null"
		}
		if f.After == nil {
			after = "/dev/null"
		}
		text := diff.Diff(before, f.Before, after, f.After)
		_, text, _ = bytes.Cut(text, []byte("\n")) // the command line of a diff
		out.Write(text)
	}
	return out.String()
}
