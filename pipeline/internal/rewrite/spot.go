package rewrite

import (
	"io/fs"
	"path/filepath"
	"runtime"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// spot is what a path leads to.
type spot struct {
	isFile, isDir bool   // neither where nothing is there
	real          string // links followed; "" until it is asked for
}

// spot looks a path up once in a plan: a target may name thousands of files, and asks much of
// each. Nothing is read because of the answer alone: a file that is read is followed again and
// held to the load restrictor again, so that a link which takes its place later is refused
// there.
func (p *plan) spot(path string) *spot {
	s, ok := p.spots[path]
	if !ok {
		s = &spot{isDir: p.FS.IsDir(path)}
		s.isFile = !s.isDir && p.FS.Exists(path)
		p.spots[path] = s
	}
	return s
}

func (s *spot) exists() bool { return s.isFile || s.isDir }

// real is where a path leads, links followed. The links of a directory are followed once for
// all files in it.
func (p *plan) real(path string) (string, error) {
	s := p.spot(path)
	if s.real != "" {
		return s.real, nil
	}
	if dir := filepath.Dir(path); s.isFile && dir != path && runtime.GOOS != "windows" { // Windows has several names for one file
		if above, err := p.real(dir); err == nil && p.plain(filepath.Join(above, filepath.Base(path))) {
			s.real = filepath.Join(above, filepath.Base(path))
			return s.real, nil
		}
	}
	dir, name, err := p.FS.CleanedAbs(path)
	if err != nil {
		return "", err
	}
	s.real = dir.Join(name)
	return s.real, nil
}

// plain reports whether a path is a regular file and no link to one.
func (p *plan) plain(path string) bool {
	regular := false
	err := p.FS.Walk(path, func(_ string, info fs.FileInfo, err error) error {
		regular = err == nil && info.Mode().IsRegular()
		return fs.SkipAll
	})
	return err == nil && regular
}

// scalars has nodes by their text, to find their lines.
type scalars map[string]*yaml.Node

// scalar finds the node with a text. It reads a tree once for all that is looked up in it,
// since a list may have thousands of entries.
func (k *kustomization) scalar(n *yaml.Node, value string) *yaml.Node {
	if n == nil {
		return nil
	}
	known, ok := k.scalars[n]
	if !ok {
		known = scalars{}
		known.add(n)
		if k.scalars == nil {
			k.scalars = map[*yaml.Node]scalars{}
		}
		k.scalars[n] = known
	}
	if found, ok := known[value]; ok {
		return found
	}
	return source.ScalarIn(n, value)
}

func (s scalars) add(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		_, file := fnconfig.SplitFileSource(n.Value)
		for _, text := range []string{n.Value, file} {
			if s[text] == nil {
				s[text] = n
			}
		}
	}
	for _, c := range n.Content {
		s.add(c)
	}
}
