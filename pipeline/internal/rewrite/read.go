package rewrite

import (
	"maps"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Read has the files of the target that kustomize reads for a Component, to record in which of them
// each resource stands.
type Read struct {
	Files []source.FileRef
	Given bool // it reads the result of the Stages too
}

func (r Read) empty() bool { return len(r.Files) == 0 && !r.Given }

// recordsFiles reports whether anybody asks for the files of resources: a function, or a directory
// to which the resources are written.
func (p *plan) recordsFiles() bool { return p.filed && (len(p.steps) > 0 || p.Options.Layout) }

// addRead adds a run that records files, and returns the config for it.
func (rs *runs) addRead(r Read) string {
	rs.list = append(rs.list, &Run{Read: r})
	return bridge.FilesConfig(bridge.Run(len(rs.list) - 1))
}

// pathOf returns the path of a file relative to the target, with slashes; "" if the file is not in
// or below the target.
func (p *plan) pathOf(f source.FileRef) string {
	rel, err := filepath.Rel(p.target.Dir, f.Place().Dir)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// FileOf returns the file of a resource that was read from f, relative to the target; the zero
// value if the file is not in or below the target.
func (c *Compiled) FileOf(f source.FileRef, d source.Document) annotation.File {
	path := c.plan.pathOf(f)
	if path == "" {
		return annotation.File{}
	}
	return annotation.File{Path: path, Index: strconv.Itoa(d.Index)}
}

// FilesRead returns the files of the resources that a run with a Read records. given are those of
// the result of the Stages.
func (c *Compiled) FilesRead(n bridge.Run, given bridge.Files) (bridge.Files, error) {
	files := bridge.Files{}
	r := c.Run(n)
	if r == nil {
		return files, nil
	}
	for _, f := range r.Read.Files {
		docs, err := c.Resources(f)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			files[resource.IDOf(yaml.NewRNode(d.Node))] = c.FileOf(f, d)
		}
	}
	if r.Read.Given {
		maps.Copy(files, given)
	}
	return files, nil
}
