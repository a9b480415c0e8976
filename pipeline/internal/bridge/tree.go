package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// Tree is the disk as kustomize sees it: every kustomization file is served from memory, as it
// was planned, and those that were not planned cannot be read at all. Paths are absolute.
type Tree struct {
	filesys.FileSystem // the disk

	Files map[string][]byte // by path
	Links map[string]Link   // names that stand for a file of the disk, by path
	Dirs  map[string]bool   // directories that exist only here, and hold nothing of the disk

	// Roots are the directories that files of the disk are read from; none is any. Which of them
	// a file has to lie in is held when the target is read: only kustomize's loaders know later.
	Roots map[string]bool
	// Check refuses the text of a file of the disk; nil for none.
	Check func(path string, text []byte) error

	mu    sync.Mutex
	first error // the first refusal; kustomize swallows some
}

// Link is a file of the disk, and the directory that it has to lie in; empty for any.
type Link struct{ File, Within string }

// NewTree is a disk with nothing beside it.
func NewTree(disk filesys.FileSystem) *Tree {
	return &Tree{FileSystem: disk, Files: map[string][]byte{}, Links: map[string]Link{}, Dirs: map[string]bool{}}
}

var errReadOnly = errors.New("a render does not write to its input")

// Create, Mkdir, MkdirAll, RemoveAll and WriteFile are refused: kustomize has no need of
// them without remote bases, and what it cannot do it cannot be made to do.

// Create implements filesys.FileSystem.
func (o *Tree) Create(string) (filesys.File, error) { return nil, o.refuse(errReadOnly) }

// Mkdir implements filesys.FileSystem.
func (o *Tree) Mkdir(string) error { return o.refuse(errReadOnly) }

// MkdirAll implements filesys.FileSystem.
func (o *Tree) MkdirAll(string) error { return o.refuse(errReadOnly) }

// RemoveAll implements filesys.FileSystem.
func (o *Tree) RemoveAll(string) error { return o.refuse(errReadOnly) }

// WriteFile implements filesys.FileSystem.
func (o *Tree) WriteFile(string, []byte) error { return o.refuse(errReadOnly) }

func (o *Tree) refuse(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
	return err
}

// refused is the first error of the tree's own.
func (o *Tree) refused() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// ReadFile implements filesys.FileSystem.
func (o *Tree) ReadFile(path string) ([]byte, error) {
	if data, ok := o.Files[filepath.Clean(path)]; ok {
		return data, nil
	}
	if o.inDir(path) {
		return nil, notThere(path)
	}
	l, linked := o.Links[filepath.Clean(path)]
	if linked {
		if err := o.confined(l); err != nil {
			return nil, err
		}
		path = l.File
	} else if slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path)) && o.FileSystem.Exists(path) {
		return nil, o.refuse(failure.NotPermitted.Mark(fmt.Errorf("%s was not planned: it is read in a way that krmcat does not know", path)))
	}
	real, err := disk.Real(o.FileSystem, path)
	if err == nil && !linked {
		err = o.rooted(real) // again: a link may have taken the place of what kustomize has looked at
	}
	if err != nil { // nothing of the tree's own: without its load restrictor, kustomize tries a directory as a file first
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data, err := disk.ReadReal(o.FileSystem, real, disk.MaxData)
	if err != nil {
		var kind *ownfile.KindError
		if errors.As(err, &kind) || errors.Is(err, failure.Untrusted) {
			return nil, o.refuse(fmt.Errorf("%s: %w", path, err))
		}
		return nil, err
	}
	if o.Check != nil {
		if err := o.Check(path, data); err != nil {
			return nil, o.refuse(err)
		}
	}
	return data, nil
}

// Open implements filesys.FileSystem.
func (o *Tree) Open(path string) (filesys.File, error) {
	if o.Has(path) || o.inDir(path) {
		return nil, o.refuse(failure.NotPermitted.Mark(fmt.Errorf("%s is opened in a way that krmcat does not know", path)))
	}
	return o.FileSystem.Open(path)
}

// Exists implements filesys.FileSystem.
func (o *Tree) Exists(path string) bool {
	return o.Has(path) || o.Dirs[filepath.Clean(path)] || !o.inDir(path) && o.FileSystem.Exists(path)
}

// confined holds a link to its directory once more: when this was planned, the file may not
// have been there.
func (o *Tree) confined(l Link) error {
	dir, name, err := o.FileSystem.CleanedAbs(l.File)
	if err != nil || l.Within == "" || disk.Within(l.Within, dir.Join(name)) {
		return err
	}
	return o.refuse(&disk.RestrictedError{Path: l.File, Dir: l.Within})
}

// Has tells whether a file is served from here.
func (o *Tree) Has(path string) bool {
	path = filepath.Clean(path)
	_, file := o.Files[path]
	_, link := o.Links[path]
	return file || link
}

// inDir tells what would have to be in a directory that exists only here, and is not.
func (o *Tree) inDir(path string) bool {
	if o.Has(path) {
		return false
	}
	for at := filepath.Clean(path); at != filepath.Dir(at); {
		if at = filepath.Dir(at); o.Dirs[at] {
			return true
		}
	}
	return false
}

func notThere(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} }

// IsDir implements filesys.FileSystem.
func (o *Tree) IsDir(path string) bool {
	return o.Dirs[filepath.Clean(path)] || !o.Has(path) && !o.inDir(path) && o.FileSystem.IsDir(path)
}

// CleanedAbs implements filesys.FileSystem.
func (o *Tree) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	dir, name, err := o.cleaned(path)
	if err != nil || name == "" || o.Has(path) || len(o.Roots) == 0 {
		return dir, name, err
	}
	if err := o.rooted(dir.Join(name)); err != nil {
		return "", "", err
	}
	return dir, name, nil
}

// rooted refuses a file of the disk, without links, that lies in none of the roots.
func (o *Tree) rooted(file string) error {
	if len(o.Roots) == 0 {
		return nil
	}
	for at := file; at != filepath.Dir(at); {
		if at = filepath.Dir(at); o.Roots[at] {
			return nil
		}
	}
	return o.refuse(&disk.RestrictedError{Path: file, Dir: slices.Sorted(maps.Keys(o.Roots))[0]})
}

func (o *Tree) cleaned(path string) (filesys.ConfirmedDir, string, error) {
	clean := filepath.Clean(path)
	if o.Dirs[clean] {
		return filesys.ConfirmedDir(clean), "", nil
	}
	// What is served is not looked for on the disk: a link of its name leads elsewhere.
	if o.inDir(clean) {
		return "", "", notThere(path)
	}
	if o.Has(clean) {
		return filesys.ConfirmedDir(filepath.Dir(clean)), filepath.Base(clean), nil
	}
	return o.FileSystem.CleanedAbs(path)
}
