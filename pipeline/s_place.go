package pipeline

import (
	"fmt"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/failure"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// relativeTo writes the path of a directory as kustomize wants it: relative to another one.
func relativeTo(from, to string) (string, error) {
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("naming %s from %s: %w", to, from, err)
	}
	return filepath.ToSlash(rel), nil
}

// targetDir finds the directory of a target. What is asked for elsewhere is refused.
func targetDir(fsys filesys.FileSystem, dir string) (place, error) {
	if why := remoteForm(dir); why != "" && !fsys.IsDir(dir) {
		return place{}, &SyntaxError{Where: dir, Msg: "remote targets are not supported yet: " + why}
	}
	if !fsys.Exists(dir) {
		return place{}, &SyntaxError{Where: dir, Msg: "no such directory", Kind: failure.NotFound}
	}
	root, err := confirmDir(fsys, dir)
	return place{dir: root, display: filepath.Clean(dir)}, err
}

// place is a directory by its real path and by the name the user knows it under.
type place struct{ dir, display string }

// join names a path below the place, or beside it.
func (p place) join(path string) place {
	if filepath.IsAbs(path) {
		return place{dir: path, display: path}
	}
	return place{dir: filepath.Join(p.dir, path), display: filepath.Join(p.display, path)}
}

// confirmDir gives the real path of a directory. A file is refused: so is what
// kustomize would take for a repository.
func confirmDir(fsys filesys.FileSystem, dir string) (string, error) {
	if !fsys.IsDir(dir) {
		return "", &SyntaxError{Where: dir, Msg: "not a directory"}
	}
	confirmed, _, err := fsys.CleanedAbs(dir)
	if err != nil {
		return "", &SyntaxError{Where: dir, Msg: "cannot be read", Err: err}
	}
	return confirmed.String(), nil
}

func isFile(fsys filesys.FileSystem, path string) bool {
	return fsys.Exists(path) && !fsys.IsDir(path)
}
