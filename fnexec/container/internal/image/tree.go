package image

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
)

// kindOf is what a node of a file system is. Nothing else is unpacked.
type kindOf byte

const (
	kindDir  kindOf = 'd'
	kindFile kindOf = 'f'
	kindLink kindOf = 'l'
)

// node is one entry of the file system that is being unpacked. The tree in memory is
// what names are resolved in: what lies on disk is never asked, so that no link on it is
// ever followed.
type node struct {
	kind  kindOf
	layer int              // number of the last layer that has it, from 1
	swept int              // number of the layer that took away what was below it
	text  string           // of a link
	file  *writtenFile     // of a file; other names of the same one have it too
	mtime time.Time        // of a directory
	names map[string]*node // of a directory
}

// writtenFile is a file as it was written, to compare what lies on disk with.
type writtenFile struct {
	seen entry // what the system said of it then, or when its content was compared last; without a path
	sum  [sha256.Size]byte
}

// spot is where an entry belongs: a directory, its path from the root ("" for the root
// itself), and the name in it. The root has no name.
type spot struct {
	dir  *node
	path string
	base string
}

func (s spot) full() string {
	if s.path == "" {
		return s.base
	}
	return s.path + "/" + s.base
}

// The bounds on finding one name: those of a kernel for links, and one on steps, since the
// text of a link may be long.
const (
	maxLinks = 255
	maxSteps = 4096
)

var (
	errNotDir   = errors.New("a part of its path is a file")
	errLinks    = fmt.Errorf("its path leads through more than %d links", maxLinks)
	errSteps    = fmt.Errorf("its path has more than %d parts", maxSteps)
	errBudget   = errors.New("too much was followed for one image")
	errNotThere = errors.New("it does not exist")
)

// walkPath goes along a path as in a chroot: absolute links mean the root, and above the
// root is the root. step is given the parts of the way so far, from the root, and a name
// there, and tells whether it is a link and to what.
//
// Every part is a step, what stands for nothing too, and each is taken off the budget: what
// is done is no more than what is counted, however the texts of links are made up.
func walkPath(name string, budget *int64, step func(at []string, name string) (text string, link bool, err error)) ([]string, error) {
	var at []string
	todo := []string{name} // what is left of the path, and of the links on it; the last is next
	links := 0
	for steps := 0; len(todo) > 0; steps++ {
		next, rest, more := strings.Cut(todo[len(todo)-1], "/")
		todo = todo[:len(todo)-1]
		if more {
			todo = append(todo, rest)
		}
		*budget--
		switch {
		case *budget < 0:
			return nil, errBudget
		case steps > maxSteps:
			return nil, errSteps
		case next == "", next == ".":
			continue
		case next == "..":
			at = at[:max(len(at)-1, 0)]
			continue
		}
		text, link, err := step(at, next)
		if err != nil {
			return nil, err
		}
		if !link {
			at = append(at, next)
			continue
		}
		if links++; links > maxLinks {
			return nil, errLinks
		}
		if strings.HasPrefix(text, "/") {
			at = at[:0]
		}
		todo = append(todo, text)
	}
	return at, nil
}

// parts splits a path. What stands for nothing is left out.
func parts(name string) []string {
	var ps []string
	for p := range strings.SplitSeq(name, "/") {
		if p != "" && p != "." {
			ps = append(ps, p)
		}
	}
	return ps
}

// spot finds the directory that an entry belongs to, in no more steps than the budget has.
// make is called for a directory that is missing, nil where that is an error.
func (t *node) spot(name []string, budget *int64, make func(s spot) (*node, error)) (spot, error) {
	if len(name) == 0 {
		return spot{dir: t}, nil
	}
	way := []*node{t} // the directories of at, the root first
	step := func(at []string, name string) (string, bool, error) {
		way = way[:len(at)+1]
		n := way[len(at)].names[name]
		if n == nil {
			if make == nil {
				return "", false, errNotThere
			}
			var err error
			if n, err = make(spot{way[len(at)], strings.Join(at, "/"), name}); err != nil {
				return "", false, err
			}
		}
		switch n.kind {
		case kindLink:
			return n.text, true, nil
		case kindFile:
			return "", false, errNotDir
		case kindDir:
		}
		way = append(way, n)
		return "", false, nil
	}
	dir, base := name[:len(name)-1], name[len(name)-1]
	at, err := walkPath(strings.Join(dir, "/"), budget, step)
	if err != nil {
		return spot{}, err
	}
	return spot{way[len(at)], strings.Join(at, "/"), base}, nil
}

// entryName reads the name of an entry: from the root, wherever it says to begin.
func entryName(name string) ([]string, error) {
	if strings.ContainsRune(name, 0) {
		return nil, errors.New("the name holds a zero byte")
	}
	ps := parts(name)
	for _, p := range ps {
		switch {
		case p == "..":
			return nil, errors.New("the name holds .. and leads out of its directory")
		case len(p) > 255:
			return nil, errors.New("a part of the name is longer than 255 bytes")
		}
	}
	return ps, nil
}
