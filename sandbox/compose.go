package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// place is a path of a file system that is being composed: something of its own stands
// there (op), or below it.
type place struct {
	op    *op
	below map[string]*place
}

func (p *place) child(name string) *place {
	if p.below == nil {
		p.below = map[string]*place{}
	}
	c := p.below[name]
	if c == nil {
		c = &place{}
		p.below[name] = c
	}
	return c
}

func (p *place) names() []string {
	var names []string
	for n := range p.below {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// composer makes the ops of a file system out of a directory, of which everything is
// shown read-only, and of what stands in place of parts of it. A directory in which
// something has to be made that is not there is shown entry by entry: what is shared is
// never written to.
type composer struct {
	ops []op
}

// compose shows root with over in it. Later ones of over win where two have one place. Where
// root has to be shown entry by entry, those that skip names are left out: over stands in
// the place of all of them that matter.
func compose(root string, skip func(name string) bool, over []op) ([]op, error) {
	top := &place{}
	for _, o := range over {
		at := top
		for name := range strings.SplitSeq(strings.Trim(o.dst, "/"), "/") {
			at = at.child(name)
		}
		at.op = &o
	}
	c := &composer{}
	if fits(root, top) { // one mount in place of many
		c.ops = append(c.ops, op{kind: opBind, src: root, dst: "/"})
		err := c.inside(root, "/", top)
		return c.ops, err
	}
	if err := c.entries(root, "/", top, skip); err != nil {
		return nil, err
	}
	return c.ops, nil
}

// entries shows the entries of a directory one by one.
func (c *composer) entries(src, dst string, p *place, skip func(string) bool) error {
	if src != "" {
		found, err := os.ReadDir(src)
		if err != nil && !errors.Is(err, fs.ErrPermission) { // what nobody can list is empty
			return err
		}
		for _, e := range found {
			if _, own := p.below[e.Name()]; own || skip != nil && skip(e.Name()) {
				continue
			}
			if err := c.show(filepath.Join(src, e.Name()), path.Join(dst, e.Name()), e.Type()); err != nil {
				return err
			}
		}
	}
	for _, name := range p.names() {
		from := ""
		if src != "" && (skip == nil || !skip(name)) {
			from = filepath.Join(src, name)
		}
		if err := c.put(from, path.Join(dst, name), p.below[name]); err != nil {
			return err
		}
	}
	return nil
}

// show shows one entry as it is. Sockets and devices are not shown.
func (c *composer) show(src, dst string, kind fs.FileMode) error {
	if kind&fs.ModeSymlink != 0 {
		text, err := os.Readlink(src)
		if err != nil {
			return err
		}
		c.ops = append(c.ops, op{kind: opSymlink, src: text, dst: dst})
	} else if kind.IsDir() || kind.IsRegular() {
		c.ops = append(c.ops, op{kind: opBind, src: src, dst: dst})
	}
	return nil
}

// put shows what is at one place, of which src is what stood there, "" for nothing.
func (c *composer) put(src, dst string, p *place) error {
	if p.op != nil {
		c.ops = append(c.ops, *p.op)
		if p.op.kind == opBind {
			return c.inside(p.op.src, dst, p)
		}
		return c.entries("", dst, p, nil)
	}
	info, err := os.Lstat(src)
	switch {
	case src == "" || err != nil || !info.IsDir():
		c.ops = append(c.ops, op{kind: opDir, dst: dst})
		return c.entries("", dst, p, nil)
	case fits(src, p):
		c.ops = append(c.ops, op{kind: opBind, src: src, dst: dst})
		return c.inside(src, dst, p)
	}
	c.ops = append(c.ops, op{kind: opTmpfs, dst: dst})
	return c.entries(src, dst, p, nil)
}

// inside puts what stands below a directory that is shown as a whole.
func (c *composer) inside(src, dst string, p *place) error {
	for _, name := range p.names() {
		b := p.below[name]
		if b.op == nil { // a directory that is there, or else nothing fits
			if err := c.inside(filepath.Join(src, name), path.Join(dst, name), b); err != nil {
				return err
			}
			continue
		}
		if err := c.put("", path.Join(dst, name), b); err != nil {
			return err
		}
	}
	return nil
}

// fits tells whether all that stands below a directory can stand in the place of
// something that is there and of its kind.
func fits(src string, p *place) bool {
	for name, b := range p.below {
		info, err := os.Lstat(filepath.Join(src, name))
		if err != nil {
			return false
		}
		if b.op == nil || b.op.kind != opBind && b.op.kind != opEmpty {
			if b.op != nil && b.op.kind == opSymlink || !info.IsDir() {
				return false
			}
		} else if dir := isDir(b.op); dir != info.IsDir() || !dir && !info.Mode().IsRegular() {
			return false
		}
		if b.op == nil && !fits(filepath.Join(src, name), b) {
			return false
		}
	}
	return true
}

// isDir tells whether a directory is to be mounted.
func isDir(o *op) bool {
	if o.kind == opEmpty {
		return false
	}
	info, err := os.Stat(o.src)
	return err == nil && info.IsDir()
}
