package image

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
)

// kindOf is the kind of a node. Entries of other kinds are not unpacked.
type kindOf byte

const (
	kindDir  kindOf = 'd'
	kindFile kindOf = 'f'
	kindLink kindOf = 'l'
)

// node is one entry of the file system that is being unpacked. Paths are resolved in this tree
// in memory, never on the disk, so that no link on the disk is followed.
type node struct {
	kind  kindOf
	layer int              // number of the last layer that has it, from 1
	swept int              // number of the layer that removed what was below it
	text  string           // of a link
	file  *writtenFile     // of a file; shared by its hard links
	mtime time.Time        // of a directory
	names map[string]*node // of a directory
}

// writtenFile describes a file as it was written, for comparison with the disk.
type writtenFile struct {
	seen entry // its metadata when it was written, or last compared; without a path
	sum  [sha256.Size]byte
}

// spot is the place of an entry: a directory, its path from the root ("" for the root itself),
// and the name in it. The root has the name "".
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

// The bounds on resolving one path: on links, as in a kernel, and on steps, since the text of a
// link may be long.
const (
	maxLinks = 255
	maxSteps = 4096
)

var (
	errNotDir   = errors.New("a part of its path is a file")
	errLinks    = fmt.Errorf("its path leads through more than %d links", maxLinks)
	errSteps    = fmt.Errorf("its path has more than %d parts", maxSteps)
	errBudget   = errors.New("its image has too many paths and links to follow")
	errNotThere = errors.New("it does not exist")
)

// walkPath follows a path as in a chroot: absolute links start at the root, and .. in the root
// is the root. step is called with the elements from the root so far and the next name, and
// returns whether that is a link, and its text.
//
// Every element is a step, even "." and empty ones, and each is taken from the budget. So the
// work is bounded however the texts of links are made.
func walkPath(name string, budget *int64, step func(at []string, name string) (text string, link bool, err error)) ([]string, error) {
	var at []string
	todo := []string{name} // the rest of the path and of the links on it; the last one is next
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

// parts splits a path into its elements, without "." and empty ones.
func parts(name string) []string {
	var ps []string
	for p := range strings.SplitSeq(name, "/") {
		if p != "" && p != "." {
			ps = append(ps, p)
		}
	}
	return ps
}

// spot returns the place of an entry. It takes steps from the budget. make is called for a
// missing directory; nil if that is an error.
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

// entryName splits the name of an entry. It is relative to the root, even with a slash before it.
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
