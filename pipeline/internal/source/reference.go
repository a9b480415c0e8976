package source

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/internal/failure"
)

// FileRef is a path in a file of the user.
type FileRef struct {
	Written string
	At      Place  // the directory that the path is relative to
	Where   string // file:line

	Text Document // a config in place of the path; no node for none
}

// Place returns the place that the path names.
func (f FileRef) Place() Place { return f.At.Join(f.Written) }

// Errorf returns an error with the position of the path.
func (f FileRef) Errorf(format string, args ...any) error {
	return &SyntaxError{Where: f.Where, Msg: fmt.Sprintf(format, args...)}
}

// Missing returns an error about a file that does not exist.
func (f FileRef) Missing() error {
	return &SyntaxError{Where: f.Where, Msg: f.Written + ": no such file or directory", Kind: failure.NotFound}
}

// OfKustomization refuses the path of a kustomization file where the path of its directory is
// expected.
func (f FileRef) OfKustomization() error {
	return f.Errorf("%s names a kustomization file; name its directory", f.Written)
}

// OwnPrefix is the prefix of the names of files that exist only for kustomize.
const OwnPrefix = ".krmcat-"

// OwnName refuses paths that could be one of these names, and paths that kustomize may read as text
// or as another path: it writes them as YAML, which folds some line breaks into spaces.
func OwnName(where, path string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' }
	if strings.ContainsFunc(path, odd) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%q: there is a control character in the path", path)}
	}
	if strings.Contains(path, OwnPrefix) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%s: names that begin with %s are krmcat's own", path, OwnPrefix)}
	}
	return nil
}
