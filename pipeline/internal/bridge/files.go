package bridge

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	kresource "sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// Files are the files of resources, by id. A resource that is not in it has none.
type Files map[resource.ID]annotation.File

// FilesConfig returns the config of a run that functions have no part in: it records the files of
// the resources that kustomize has just read. Build.Files knows them.
func FilesConfig(r Run) string {
	return strings.TrimSuffix(StepConfig(r), "}\n") + `,"files":true}` + "\n"
}

// fileTable records the files of resources while kustomize has them. It uses the list of names of
// vars that kustomize keeps beside each resource: copies have it too, it outlives changes of the
// resource, its name included, and is never printed, hashed or matched. The names are of no var
// that a target can declare. An annotation would do none of that (docs/adr/0033).
type fileTable struct {
	prefix string // nobody can guess it
	list   []annotation.File
}

func newFileTable() *fileTable { return &fileTable{prefix: "\x00" + rand.Text() + ":"} }

// set records the file of a resource. The last record counts.
func (t *fileTable) set(r *kresource.Resource, f annotation.File) {
	r.AppendRefVarName(types.Var{Name: t.prefix + strconv.Itoa(len(t.list))})
	t.list = append(t.list, f)
}

// of returns the file of a resource.
func (t *fileTable) of(r *kresource.Resource) (f annotation.File, ok bool) {
	for _, name := range r.GetRefVarNames() {
		if n, found := strings.CutPrefix(name, t.prefix); found {
			if i, err := strconv.Atoi(n); err == nil && i < len(t.list) {
				f, ok = t.list[i], true
			}
		}
	}
	return f, ok
}

// all returns the files of resources.
func (t *fileTable) all(m resmap.ResMap) Files {
	if len(t.list) == 0 {
		return nil
	}
	files := Files{}
	for _, r := range m.Resources() {
		if f, ok := t.of(r); ok {
			files[resource.FromResID(r.CurId())] = f
		}
	}
	return files
}

// record sets the files of the resources that are in files. The others keep what they have.
func (t *fileTable) record(m resmap.ResMap, files Files) {
	if len(files) == 0 {
		return
	}
	for _, r := range m.Resources() {
		f, ok := files[resource.FromResID(r.CurId())]
		if was, _ := t.of(r); ok && f != was {
			t.set(r, f)
		}
	}
}

// read records the files of the resources that kustomize has read for a Component. Resources that
// were there before have theirs.
func (p *plugin) read(m resmap.ResMap) error {
	files, err := p.steps.files(p.run)
	if err != nil {
		if p.steps.failed == nil {
			p.steps.failed = err
		}
		return fmt.Errorf("recording the files of resources: %w", err)
	}
	p.steps.table.record(m, files)
	return nil
}
