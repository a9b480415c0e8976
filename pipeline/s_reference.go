package pipeline

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/internal/failure"
)

// fileRef is a path as it stands in a file of the user's.
type fileRef struct {
	written string
	at      place  // the directory that it is relative to
	where   string // file:line

	text document // a config that stands in the place of a path; no node for none
}

// place is where the path leads, by the name a person knows it under.
func (f fileRef) place() place { return f.at.join(f.written) }

func (f fileRef) errorf(format string, args ...any) error {
	return &SyntaxError{Where: f.where, Msg: fmt.Sprintf(format, args...)}
}

func (f fileRef) missing() error {
	return &SyntaxError{Where: f.where, Msg: f.written + ": no such file or directory", Kind: failure.NotFound}
}

// ofKustomization refuses a kustomization where its directory is meant.
func (f fileRef) ofKustomization() error {
	return f.errorf("%s names a kustomization file; name its directory", f.written)
}

// ownPrefix begins the names of files that exist only for kustomize.
const ownPrefix = ".krmcat-"

// ownName refuses paths that could name one of them, and paths that kustomize may read as
// something else: as text, or as another path, since it writes them as YAML on its way,
// which folds some line breaks into spaces.
func ownName(where, path string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' }
	if strings.ContainsFunc(path, odd) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%q: there is a control character in the path", path)}
	}
	if strings.Contains(path, ownPrefix) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%s: names that begin with %s are krmcat's own", path, ownPrefix)}
	}
	return nil
}
