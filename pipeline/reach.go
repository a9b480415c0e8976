package pipeline

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Beyond says what keeps a file or directory of this machine that the functionConfig names,
// by its absolute path, from being read: the load restrictor keeps what a config names in or
// below the directory that its paths are relative to, wherever its links lead. Nil where
// nothing does; the error is a *RestrictedError, or says why that cannot be told.
func (s Step) Beyond(fsys filesys.FileSystem, path string, o Options) error {
	root, err := s.Bound(fsys, o)
	if err != nil || root == "" {
		return err
	}
	real, err := followed(fsys, path)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return &RestrictedError{Path: path, Dir: s.Dir}
	}
	return nil
}

// Bound is the directory, without links, that the load restrictor keeps what the functionConfig
// names in or below; "" where it does not.
func (s Step) Bound(fsys filesys.FileSystem, o Options) (string, error) {
	if o.LoadAnywhere {
		return "", nil
	}
	root, _, err := fsys.CleanedAbs(s.Dir)
	return root.String(), err
}

// followed is where a path leads. What is not there leads as far as it is: that it is
// missing is for whoever reads it to say.
func followed(fsys filesys.FileSystem, path string) (string, error) {
	dir, name, err := fsys.CleanedAbs(path)
	if err == nil {
		return dir.Join(name), nil
	}
	parent := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || parent == path {
		return "", err
	}
	above, err := followed(fsys, parent)
	return filepath.Join(above, filepath.Base(path)), err
}

// RestrictedError says that the load restrictor keeps a functionConfig from naming a file.
type RestrictedError = disk.RestrictedError
