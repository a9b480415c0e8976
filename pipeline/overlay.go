package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/refusal"
)

func kustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

// overlay is the disk as kustomize sees it: every kustomization file is served from
// memory, as it was planned, and those that were not planned cannot be read at all.
type overlay struct {
	filesys.FileSystem // the disk

	files map[string][]byte // by absolute path
	links map[string]link   // names that stand for a file of the disk, by absolute path
	dirs  map[string]bool   // directories that exist only here, and hold nothing of the disk

	// roots are the directories that files of the disk are read from; none is any. Which of them
	// a file has to lie in is held when the target is read: only kustomize's loaders know later.
	roots map[string]bool

	mu    sync.Mutex
	first error // the first refusal; kustomize swallows some
}

// link is a file of the disk, and the directory that it has to lie in; empty for any.
type link struct{ file, within string }

func newOverlay(disk filesys.FileSystem) *overlay {
	return &overlay{FileSystem: disk, files: map[string][]byte{}, links: map[string]link{}, dirs: map[string]bool{}}
}

var errReadOnly = errors.New("a render does not write to its input")

// Create, Mkdir, MkdirAll, RemoveAll and WriteFile are refused: kustomize has no need of
// them without remote bases, and what it cannot do it cannot be made to do.

// Create implements filesys.FileSystem.
func (o *overlay) Create(string) (filesys.File, error) { return nil, o.refuse(errReadOnly) }

// Mkdir implements filesys.FileSystem.
func (o *overlay) Mkdir(string) error { return o.refuse(errReadOnly) }

// MkdirAll implements filesys.FileSystem.
func (o *overlay) MkdirAll(string) error { return o.refuse(errReadOnly) }

// RemoveAll implements filesys.FileSystem.
func (o *overlay) RemoveAll(string) error { return o.refuse(errReadOnly) }

// WriteFile implements filesys.FileSystem.
func (o *overlay) WriteFile(string, []byte) error { return o.refuse(errReadOnly) }

func (o *overlay) refuse(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
	return err
}

// refused is the first error of the overlay's own.
func (o *overlay) refused() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// ReadFile implements filesys.FileSystem.
func (o *overlay) ReadFile(path string) ([]byte, error) {
	if data, ok := o.files[filepath.Clean(path)]; ok {
		return data, nil
	}
	if o.inDir(path) {
		return nil, notThere(path)
	}
	l, linked := o.links[filepath.Clean(path)]
	if linked {
		if err := o.confined(l); err != nil {
			return nil, err
		}
		path = l.file
	} else if slices.Contains(kustomizationNames(), filepath.Base(path)) && o.FileSystem.Exists(path) {
		return nil, o.refuse(refusal.Reach(fmt.Errorf("%s was not planned: it is read in a way that krmcat does not know", path)))
	}
	real, err := realFile(o.FileSystem, path)
	if err == nil && !linked {
		err = o.rooted(real) // again: a link may have taken the place of what kustomize has looked at
	}
	if err != nil { // nothing of the overlay's own: without its load restrictor, kustomize tries a directory as a file first
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data, err := readReal(o.FileSystem, real, maxData)
	if err != nil {
		var kind *ownfile.KindError
		if errors.As(err, &kind) || errors.Is(err, refusal.ErrContent) {
			return nil, o.refuse(fmt.Errorf("%s: %w", path, err))
		}
		return nil, err
	}
	if err := bombIn(path, data); err != nil {
		return nil, o.refuse(err)
	}
	return data, nil
}

// Open implements filesys.FileSystem.
func (o *overlay) Open(path string) (filesys.File, error) {
	if o.has(path) || o.inDir(path) {
		return nil, o.refuse(refusal.Reach(fmt.Errorf("%s is opened in a way that krmcat does not know", path)))
	}
	return o.FileSystem.Open(path)
}

// Exists implements filesys.FileSystem.
func (o *overlay) Exists(path string) bool {
	return o.has(path) || o.dirs[filepath.Clean(path)] || !o.inDir(path) && o.FileSystem.Exists(path)
}

// confined holds a link to its directory once more: when this was planned, the file may not
// have been there.
func (o *overlay) confined(l link) error {
	dir, name, err := o.FileSystem.CleanedAbs(l.file)
	if err != nil || l.within == "" || within(l.within, dir.Join(name)) {
		return err
	}
	return o.refuse(&RestrictedError{Path: l.file, Dir: l.within})
}

// has tells whether a file is served from here.
func (o *overlay) has(path string) bool {
	path = filepath.Clean(path)
	_, file := o.files[path]
	_, link := o.links[path]
	return file || link
}

// inDir tells what would have to be in a directory that exists only here, and is not.
func (o *overlay) inDir(path string) bool {
	if o.has(path) {
		return false
	}
	for at := filepath.Clean(path); at != filepath.Dir(at); {
		if at = filepath.Dir(at); o.dirs[at] {
			return true
		}
	}
	return false
}

func notThere(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} }

// IsDir implements filesys.FileSystem.
func (o *overlay) IsDir(path string) bool {
	return o.dirs[filepath.Clean(path)] || !o.has(path) && !o.inDir(path) && o.FileSystem.IsDir(path)
}

// CleanedAbs implements filesys.FileSystem.
func (o *overlay) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	dir, name, err := o.cleaned(path)
	if err != nil || name == "" || o.has(path) || len(o.roots) == 0 {
		return dir, name, err
	}
	if err := o.rooted(dir.Join(name)); err != nil {
		return "", "", err
	}
	return dir, name, nil
}

// rooted refuses a file of the disk, without links, that lies in none of the roots.
func (o *overlay) rooted(file string) error {
	if len(o.roots) == 0 {
		return nil
	}
	for at := file; at != filepath.Dir(at); {
		if at = filepath.Dir(at); o.roots[at] {
			return nil
		}
	}
	return o.refuse(&RestrictedError{Path: file, Dir: sortedKeys(o.roots)[0]})
}

func (o *overlay) cleaned(path string) (filesys.ConfirmedDir, string, error) {
	clean := filepath.Clean(path)
	if o.dirs[clean] {
		return filesys.ConfirmedDir(clean), "", nil
	}
	// What is served is not looked for on the disk: a link of its name leads elsewhere.
	if o.inDir(clean) {
		return "", "", notThere(path)
	}
	if o.has(clean) {
		return filesys.ConfirmedDir(filepath.Dir(clean)), filepath.Base(clean), nil
	}
	return o.FileSystem.CleanedAbs(path)
}
