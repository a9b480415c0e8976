package pipeline

import (
	"maps"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
)

// File says in which file of the target a resource stands, or where a function put it: the path
// relative to the target, with slashes, and the number of the document, as it is written. The path
// is that of a stranger. The zero value is none.
type File = annotation.File

// Built is the result of a build.
type Built struct {
	Items []*yaml.RNode
	// Files has the file of each of Items. In a Kustomization only functions put resources into
	// files: what was read from one has none.
	Files []File
}

// filing follows the files of resources through the functions of a target.
type filing struct {
	// put has the files of the resources of the current run of kustomize, if functions put them
	// there.
	put bridge.Files
	// stray are paths of annotations that no function chose: those that the resources had, and
	// those that were made up for new resources, as kustomize does.
	stray map[string]bool
}

// enter shows the functions of a run the files of resources.
func (f *filing) enter(filed bool, items []*yaml.RNode, files bridge.Files) {
	f.put = maps.Clone(files)
	if f.put == nil {
		f.put = bridge.Files{}
	}
	if !filed {
		return
	}
	for _, n := range items {
		annotation.SetFile(n.YNode(), files[resource.IDOf(n)])
	}
}

// leave returns the files of what a run returned. kustomize does not see files: a patch could
// select resources by them.
func (f *filing) leave(filed bool, items []*yaml.RNode) bridge.Files {
	if !filed {
		return f.put
	}
	files := bridge.Files{}
	for _, n := range items {
		if file := annotation.FileOf(n.YNode()); file.Path != "" {
			files[resource.IDOf(n)] = file
			annotation.SetFile(n.YNode(), File{})
		}
	}
	return files
}

// kept is called for a resource that a function returned, and that was there before.
func (f *filing) kept(filed bool, n *yaml.RNode, was File) {
	now, id := annotation.FileOf(n.YNode()), resource.IDOf(n)
	_, put := f.put[id]
	switch {
	case filed && now.Path == "":
		annotation.SetFile(n.YNode(), was)
	case filed:
	case now.Path == "":
		f.makeUp(n, now)
	case now.Path != was.Path || put && now != was:
		f.put[id] = now
	case !put:
		f.stray[now.Path] = true
	}
}

// added is called for a resource that a function returned, and that was not there before.
func (f *filing) added(filed bool, n *yaml.RNode) {
	now := annotation.FileOf(n.YNode())
	switch {
	case filed:
	case now.Path == "":
		f.makeUp(n, now)
	case !f.stray[now.Path]:
		f.put[resource.IDOf(n)] = now
	}
}

// makeUp gives a resource the path that kustomize gives to what a function returned without one.
func (f *filing) makeUp(n *yaml.RNode, now File) {
	now.Path = annotation.DefaultPath(n.YNode())
	annotation.SetFile(n.YNode(), now)
	f.stray[now.Path] = true
}

// filed reports whether the functions of a run see the files of resources.
func (a *applied) filed(r *rewrite.Run) bool { return len(r.Steps) > 0 && a.steps[r.Steps[0]].Filed }
