package pipeline

import (
	"path/filepath"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
)

// link serves a file under the name that stands for it, in one directory.
func (p *plan) link(name, root string) error {
	f := p.refs[name]
	if why := remoteForm(f.written); why != "" && !p.fsys.Exists(f.place().dir) {
		return f.errorf("%s: it cannot be remote yet: %s", f.written, why)
	}
	real, err := p.confine(f)
	if err != nil {
		return err
	}
	p.serveLink(name, root, bridge.Link{File: real, Within: f.at.dir})
	return nil
}

func (p *plan) serveLink(name, root string, l bridge.Link) {
	if p.options.LoadAnywhere {
		l.Within = ""
	}
	p.overlay.Links[filepath.Join(root, name)] = l
}
