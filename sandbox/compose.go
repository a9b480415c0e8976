package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// place is a path in a file system that is being composed. It has an op of its own, or places
// below it, or both.
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

// composer makes the ops of a file system. A directory is mounted entry by entry if something
// must be mounted at a path that it does not have. So no shared directory is written to, and
// no link in one is followed.
type composer struct {
	ops []op
}

// compose returns the ops that show over, in order. An op at "/" is the root itself. If two
// have the same path, the later one wins.
func compose(over []op) ([]op, error) {
	top := &place{}
	for _, o := range over {
		at := top
		for name := range strings.SplitSeq(strings.Trim(o.dst, "/"), "/") {
			if name != "" {
				at = at.child(name)
			}
		}
		at.op = &o
	}
	c := &composer{}
	err := c.put("", "/", top)
	return c.ops, err
}

// put makes the ops for one place. src is the directory that it replaces; "" for none.
func (c *composer) put(src, dst string, p *place) error {
	o := p.op
	if o == nil {
		if info, err := os.Lstat(src); src == "" || err != nil || !info.IsDir() {
			if dst != "/" {
				c.ops = append(c.ops, op{kind: opDir, dst: dst})
			}
			return c.below("", dst, p)
		}
		o = &op{kind: opBind, src: src, dst: dst}
	}
	switch {
	case o.kind != opBind:
		c.ops = append(c.ops, *o)
		if len(p.below) > 0 && o.kind != opTmpfs && o.kind != opDir {
			return fmt.Errorf("nothing can be mounted below %s", dst)
		}
		return c.below("", dst, p)
	case fits(o.src, p):
		c.ops = append(c.ops, *o)
		return c.inside(o.src, dst, p)
	case o.write:
		return fmt.Errorf("a mount below %s needs a directory there, and none is made in a writable mount: make it first", dst)
	}
	if dst != "/" {
		c.ops = append(c.ops, op{kind: opTmpfs, dst: dst})
	}
	return c.entries(o.src, dst, p)
}

// entries shows each entry of a directory by an op of its own.
func (c *composer) entries(src, dst string, p *place) error {
	found, err := os.ReadDir(src)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // a directory that cannot be listed is shown empty
		return err
	}
	for _, e := range found {
		if _, own := p.below[e.Name()]; own {
			continue
		}
		if err := c.show(filepath.Join(src, e.Name()), path.Join(dst, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return c.below(src, dst, p)
}

// below puts the places below p. src is the directory that p replaces; "" for none.
func (c *composer) below(src, dst string, p *place) error {
	for _, name := range p.names() {
		from := ""
		if src != "" {
			from = filepath.Join(src, name)
		}
		if err := c.put(from, path.Join(dst, name), p.below[name]); err != nil {
			return err
		}
	}
	return nil
}

// show shows one entry unchanged. Sockets and devices are left out.
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

// inside puts the places below a directory that is mounted as a whole and has a path for each
// of them.
func (c *composer) inside(src, dst string, p *place) error {
	for _, name := range p.names() {
		b, at := p.below[name], path.Join(dst, name)
		var err error
		if b.op == nil {
			err = c.inside(filepath.Join(src, name), at, b)
		} else {
			err = c.put("", at, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether the directory src has a path of the right kind for every place below p.
// A symbolic link is not one.
func fits(src string, p *place) bool {
	for name, b := range p.below {
		info, err := os.Lstat(filepath.Join(src, name))
		if err != nil {
			return false
		}
		switch {
		case b.op == nil:
			if !info.IsDir() || !fits(filepath.Join(src, name), b) {
				return false
			}
		case b.op.kind == opSymlink, b.op.kind == opFile:
			return false
		case isDir(b.op) != info.IsDir() || !info.IsDir() && !info.Mode().IsRegular():
			return false
		}
	}
	return true
}

// isDir reports whether an op makes a directory.
func isDir(o *op) bool {
	switch o.kind {
	case opEmpty, opFile:
		return false
	case opBind:
		info, err := os.Stat(o.src)
		return err == nil && info.IsDir()
	default:
		return true
	}
}
