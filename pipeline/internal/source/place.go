package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/failure"
)

// RelativeTo returns the path of a directory relative to another one, as kustomize needs it.
func RelativeTo(from, to string) (string, error) {
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("naming %s from %s: %w", to, from, err)
	}
	return filepath.ToSlash(rel), nil
}

// TargetDir returns the directory of a target. A remote target is refused.
func TargetDir(fsys filesys.FileSystem, dir string) (Place, error) {
	if why := RemoteForm(dir); why != "" && !fsys.IsDir(dir) {
		return Place{}, &SyntaxError{Where: dir, Msg: "remote targets are not supported yet: " + why}
	}
	if !fsys.Exists(dir) {
		return Place{}, &SyntaxError{Where: dir, Msg: "no such directory", Kind: failure.NotFound}
	}
	root, err := ConfirmDir(fsys, dir)
	return Place{Dir: root, Display: filepath.Clean(dir)}, err
}

// Place is a file or directory: its real path, and the path as the user knows it.
type Place struct{ Dir, Display string }

// Join returns a path relative to the place.
func (p Place) Join(path string) Place {
	if filepath.IsAbs(path) {
		return Place{Dir: path, Display: path}
	}
	return Place{Dir: filepath.Join(p.Dir, path), Display: filepath.Join(p.Display, path)}
}

// ConfirmDir returns the real path of a directory. It refuses a file, and a path that kustomize
// reads as a repository.
func ConfirmDir(fsys filesys.FileSystem, dir string) (string, error) {
	if !fsys.IsDir(dir) {
		return "", &SyntaxError{Where: dir, Msg: "it is not a directory", Kind: failure.NotFound}
	}
	confirmed, _, err := fsys.CleanedAbs(dir)
	if err != nil {
		return "", &SyntaxError{Where: dir, Msg: "cannot be read", Err: err}
	}
	return confirmed.String(), nil
}

// IsFile reports whether a path is a file.
func IsFile(fsys filesys.FileSystem, path string) bool {
	return fsys.Exists(path) && !fsys.IsDir(path)
}

// Stack has the files that are being read, the outermost first.
type Stack struct{ Places []Place }

// Enter records that a file is being read, so that a cycle is found.
func (s *Stack) Enter(at Place) (leave func(), err error) {
	if s.Reading(at) {
		return nil, &SyntaxError{Where: at.Display, Msg: "cycle: " + s.Cycle(at)}
	}
	s.Places = append(s.Places, at)
	return func() { s.Places = s.Places[:len(s.Places)-1] }, nil
}

// Reading reports whether a file is being read.
func (s *Stack) Reading(at Place) bool {
	return slices.ContainsFunc(s.Places, func(o Place) bool { return o.Dir == at.Dir })
}

// Cycle returns the path from a file back to itself.
func (s *Stack) Cycle(at Place) string {
	i := slices.IndexFunc(s.Places, func(o Place) bool { return o.Dir == at.Dir })
	var parts []string
	for _, o := range append(slices.Clone(s.Places[i:]), s.Places[i]) {
		parts = append(parts, o.Display)
	}
	return strings.Join(parts, " → ")
}
