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

// Tree is the file system that kustomize sees. Kustomization files are served from memory, as they
// were planned. A kustomization file of the disk that was not planned cannot be read. Paths are
// absolute.
type Tree struct {
	filesys.FileSystem // the disk

	Files map[string][]byte // by path
	Links map[string]Link   // names that refer to a file of the disk, by path
	Dirs  map[string]bool   // directories that exist only here and contain nothing of the disk

	// Roots are the directories whose files of the disk may be read; if empty, all may. In which
	// one of them a file must be is checked when the target is read: later only kustomize's
	// loaders know it.
	Roots map[string]bool
	// Check returns an error if the text of a file of the disk is refused; nil accepts all.
	Check func(path string, text []byte) error

	mu    sync.Mutex
	first error // the first refusal; kustomize discards some errors
}

// Link refers to a file of the disk. Within is the directory that must contain the file; empty
// means any.
type Link struct{ File, Within string }

// NewTree returns a tree that shows a disk without changes.
func NewTree(disk filesys.FileSystem) *Tree {
	return &Tree{FileSystem: disk, Files: map[string][]byte{}, Links: map[string]Link{}, Dirs: map[string]bool{}}
}

var errReadOnly = errors.New("a render does not write to its input")

// Create, Mkdir, MkdirAll, RemoveAll and WriteFile are refused. kustomize needs them only for
// remote bases, and without them no input can make kustomize write.

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

// refuse records an error, if it is the first, and returns it.
func (o *Tree) refuse(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
	return err
}

// refused returns the first error that refuse recorded, nil for none.
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
		return nil, o.refuse(failure.NotPermitted.Mark(fmt.Errorf("%s was not planned: krmcat does not know this way of reading it", path)))
	}
	real, err := disk.Real(o.FileSystem, path)
	if err == nil && !linked {
		err = o.rooted(real) // again: a link may have replaced the file since kustomize checked it
	}
	if err != nil {
		// It is not recorded: without its load restrictor, kustomize first reads a directory as a
		// file.
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
		return nil, o.refuse(failure.NotPermitted.Mark(fmt.Errorf("%s: krmcat does not know this way of opening it", path)))
	}
	return o.FileSystem.Open(path)
}

// Exists implements filesys.FileSystem.
func (o *Tree) Exists(path string) bool {
	return o.Has(path) || o.Dirs[filepath.Clean(path)] || !o.inDir(path) && o.FileSystem.Exists(path)
}

// confined checks again that the file of a link is in the directory of the link: the file may not
// have existed when the target was planned.
func (o *Tree) confined(l Link) error {
	dir, name, err := o.FileSystem.CleanedAbs(l.File)
	if err != nil || l.Within == "" || disk.Within(l.Within, dir.Join(name)) {
		return err
	}
	return o.refuse(&disk.RestrictedError{Path: l.File, Dir: l.Within})
}

// Has reports whether a path is one of Files or Links.
func (o *Tree) Has(path string) bool {
	path = filepath.Clean(path)
	_, file := o.Files[path]
	_, link := o.Links[path]
	return file || link
}

// inDir reports whether a path is below a directory that exists only here and is not served, so
// that it does not exist.
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

// rooted refuses a file of the disk that is in none of the roots. The path must not contain
// symbolic links.
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

// cleaned is CleanedAbs without the check of the roots.
func (o *Tree) cleaned(path string) (filesys.ConfirmedDir, string, error) {
	clean := filepath.Clean(path)
	if o.Dirs[clean] {
		return filesys.ConfirmedDir(clean), "", nil
	}
	// The disk is not asked for a served path: a symbolic link of that name would resolve to another
	// file.
	if o.inDir(clean) {
		return "", "", notThere(path)
	}
	if o.Has(clean) {
		return filesys.ConfirmedDir(filepath.Dir(clean)), filepath.Base(clean), nil
	}
	return o.FileSystem.CleanedAbs(path)
}
