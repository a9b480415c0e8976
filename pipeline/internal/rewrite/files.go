package rewrite

import (
	"path/filepath"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// link serves a file under the name that stands for it, in one directory.
func (p *plan) link(name, root string) error {
	f := p.Refs[name]
	if why := source.RemoteForm(f.Written); why != "" && !p.FS.Exists(f.Place().Dir) {
		return f.Errorf("%s: it cannot be remote yet: %s", f.Written, why)
	}
	real, err := p.Confine(f)
	if err != nil {
		return err
	}
	p.serveLink(name, root, bridge.Link{File: real, Within: f.At.Dir})
	return nil
}

func (p *plan) serveLink(name, root string, l bridge.Link) {
	if p.Options.LoadAnywhere {
		l.Within = ""
	}
	p.overlay.Links[filepath.Join(root, name)] = l
}
