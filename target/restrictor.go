package target

import (
	"errors"
	"path/filepath"
)

// asks remembers where the file lies that kustomize asks for. Its load restrictor does so, and
// reads the file next if it may.
func (o *overlay) asks(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if path != o.read { // a resource that is none is tried as a directory
		o.asked = path
	}
}

// reads remembers that a file was read, and so was not refused.
func (o *overlay) reads(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.read = "", filepath.Clean(path)
}

// unread is the file that kustomize asked for last and did not read, "" for none.
func (o *overlay) unread() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

// restrictorSaid gives an error of kustomize's its type where its load restrictor is behind it,
// which says so by words alone: the build ended at a file that is there, was not read, and is
// not below every directory that files are read from.
func (p *plan) restrictorSaid(err error) error {
	path := p.overlay.unread()
	if p.options.LoadAnywhere || path == "" {
		return err
	}
	var failed *BuildError
	for root := range p.layers {
		if !within(root, path) && errors.As(err, &failed) {
			failed.Err = errors.Join(failed.Err, &RestrictedError{Path: path, Dir: root})
			break
		}
	}
	return err
}
