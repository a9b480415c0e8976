package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// spot is where a resource stands.
type spot struct {
	path  string // with slashes and cleaned; "" for none
	index int    // -1 for none
}

// maxPath bounds a path, in bytes, and maxName the names in it.
const (
	maxPath = 4096
	maxName = 255
)

// spotOf returns where a resource wants to stand. If its current and its legacy annotations differ,
// one family was changed: the other one names a document that was read.
func (t *Tree) spotOf(item *yaml.Node, has map[spot]int) (spot, error) {
	now, err := spotIn(item, annotation.Path, annotation.Index)
	if err != nil {
		return spot{}, err
	}
	legacy, err := spotIn(item, annotation.LegacyPath, annotation.LegacyIndex)
	if err != nil {
		return spot{}, err
	}
	now, legacy = orElse(now, legacy), orElse(legacy, now)
	if now == legacy {
		return now, nil
	}
	_, isNow := has[now]
	_, isLegacy := has[legacy]
	if isNow != isLegacy {
		if isNow {
			return legacy, nil
		}
		return now, nil
	}
	return spot{}, placeError(item, now.path, fmt.Sprintf("its annotations %s and %s, or those of the index, differ: %q and %q",
		annotation.Path, annotation.LegacyPath, now.path, legacy.path))
}

// orElse takes what one family lacks from the other.
func orElse(a, b spot) spot {
	if a.path == "" {
		a.path = b.path
	}
	if a.index < 0 {
		a.index = b.index
	}
	return a
}

// spotIn reads one family of annotations.
func spotIn(item *yaml.Node, pathKey, indexKey string) (spot, error) {
	a := annotation.Of(item)
	s := spot{path: annotation.Text(a, pathKey), index: -1}
	if text := annotation.Text(a, indexKey); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return s, placeError(item, s.path, fmt.Sprintf("its annotation %s is %q, not a number", indexKey, text))
		}
		s.index = max(n, -1)
	}
	if s.path == "" {
		return s, nil
	}
	if why := refused(s.path); why != "" {
		return s, placeError(item, s.path, why)
	}
	s.path = path.Clean(s.path)
	return s, nil
}

// refused returns why nothing is written to a path, "" if it may be.
func refused(p string) string {
	local, err := filepath.Localize(path.Clean(p))
	switch {
	case path.IsAbs(p) || filepath.IsAbs(p) || filepath.VolumeName(p) != "":
		return "the path is absolute"
	case strings.HasSuffix(p, "/"):
		return "the path names a directory"
	case len(p) > maxPath:
		return fmt.Sprintf("the path has more than %d bytes", maxPath)
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "the path has a backslash or a control character"
	}
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "..":
			return "the path has a .. in it"
		case len(name) > maxName:
			return fmt.Sprintf("a name in the path has more than %d bytes", maxName)
		case strings.EqualFold(name, ".git") || name == stateDir:
			return "nothing is written to " + name
		}
	}
	if err != nil || local == "." {
		return "the path does not name a file of this directory"
	}
	return ""
}

// mayMake checks that a file can be made at a path that was not read.
func (t *Tree) mayMake(root *os.Root, ignores func(string) (bool, error), p string) (why string, err error) {
	if !t.opts.holds(p) {
		return "a file of this name is not read again: resources stand in *.yaml, *.yml and *.json", nil
	}
	at := ""
	names := strings.Split(p, "/")
	for i, name := range names {
		at = path.Join(at, name)
		info, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return t.unread(ignores, p)
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			return at + " is a link", nil
		case i < len(names)-1 && !info.IsDir():
			return at + " is " + (&ownfile.KindError{Mode: info.Mode()}).Kind() + ", not a directory", nil
		case i == len(names)-1 && info.IsDir():
			return "it is a directory", nil
		case i == len(names)-1:
			return "the file exists, and was not read: it is ignored or belongs to another package", nil
		}
	}
	return t.unread(ignores, p)
}

// unread returns why a file of this path would not be read again, "" if it would.
func (t *Tree) unread(ignores func(string) (bool, error), p string) (why string, err error) {
	ignored, err := ignores(p)
	if ignored && err == nil {
		why = "a file there is not read again: it is ignored, or belongs to another package"
	}
	return why, err
}

// placeError names a resource that cannot be written where it wants to be.
func placeError(item *yaml.Node, p, why string) error {
	if p == "" {
		p = annotation.DefaultPath(item)
	}
	return &PlaceError{Resource: nameOf(item), Path: p, Why: why}
}

// nameOf names a resource: "v1 ConfigMap app/one".
func nameOf(item *yaml.Node) string {
	id := identityOf(item)
	if id.namespace != "" {
		id.name = id.namespace + "/" + id.name
	}
	return strings.Join(strings.Fields(strings.Join([]string{id.apiVersion, id.kind, id.name}, " ")), " ")
}

// identity is what a resource is called.
type identity struct{ apiVersion, kind, namespace, name string }

func identityOf(item *yaml.Node) identity {
	meta := metadataOf(item)
	return identity{
		annotation.Text(item, "apiVersion"), annotation.Text(item, "kind"),
		annotation.Text(meta, "namespace"), annotation.Text(meta, "name"),
	}
}
