package rewrite

import (
	"io/fs"
	"path/filepath"
	"runtime"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// pathInfo describes what a path refers to.
type pathInfo struct {
	isFile, isDir bool   // both false if the path does not exist
	real          string // the path with symbolic links resolved; "" until real sets it
}

// stat looks a path up once in a plan: a target may name thousands of files, and each is looked up
// several times. A result is never enough to read a file: reading resolves symbolic links and
// applies the load restrictor again, and so refuses a link that has replaced the file since.
func (p *plan) stat(path string) *pathInfo {
	s, ok := p.paths[path]
	if !ok {
		s = &pathInfo{isDir: p.FS.IsDir(path)}
		s.isFile = !s.isDir && p.FS.Exists(path)
		p.paths[path] = s
	}
	return s
}

func (s *pathInfo) exists() bool { return s.isFile || s.isDir }

// real returns a path with symbolic links resolved. Those of a directory are resolved once for all
// files in it.
func (p *plan) real(path string) (string, error) {
	s := p.stat(path)
	if s.real != "" {
		return s.real, nil
	}
	// On Windows a file has several names: the written one may not be the real one.
	if dir := filepath.Dir(path); s.isFile && dir != path && runtime.GOOS != "windows" {
		if parent, err := p.real(dir); err == nil && p.isRegular(filepath.Join(parent, filepath.Base(path))) {
			s.real = filepath.Join(parent, filepath.Base(path))
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

// isRegular reports whether a path is a regular file and not a link to one.
func (p *plan) isRegular(path string) bool {
	regular := false
	err := p.FS.Walk(path, func(_ string, info fs.FileInfo, err error) error {
		regular = err == nil && info.Mode().IsRegular()
		return fs.SkipAll
	})
	return err == nil && regular
}

// scalars maps texts to the nodes that contain them, to find their lines.
type scalars map[string]*yaml.Node

// scalar returns the node with a text. It reads a tree once for all lookups in it, because a list
// may have thousands of entries.
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
