package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// plan is a tree of kustomizations that is read once and rewritten for kustomize.
type plan struct {
	*composition.Reader
	output
	runs
	helm           helmUse
	root           *kustomization
	kustomizations map[string]*kustomization // by the directory in which kustomize sees them
	notes          []string

	target source.Place // the directory of the target
	filed  bool         // the target is a Composition

	composed map[string]string // the directory with the resources of a Composition, by file
	writing  writing
	evaluate Evaluate
	dirs     *int // the number of directories of function configs in the whole tree
	paths    map[string]*pathInfo
	// metadata is set if the target has buildMetadata. Each function is then a separate run,
	// because kustomize records the file of each.
	metadata bool
}

// output is what kustomize will see, and what its virtual names refer to.
type output struct {
	overlay  *bridge.Tree
	virtuals []*components
	configs  map[string][]string     // the configs in a virtual file, by path
	virtual  map[string]source.Place // the file from which a virtual directory is made
	origins  map[string]string       // the real path of the user's file, by virtual name
	builtins map[builtinAt]string    // the positions of the builtins of Compositions
}

// helmUse records which part of a target runs helm.
type helmUse struct {
	never bool   // in a directory of function configs, evaluated before any permission is granted
	runs  bool   // kustomize then needs a directory for temporary files
	where string // the first position that needs helm
}

// kustomization is one kustomization file, or a Kustomization inside a Composition.
type kustomization struct {
	source.Place
	root       string // the directory in which kustomize sees it; virtual for one in a Composition
	name       string // the name of the file
	real       string // the file, with symbolic links resolved; empty for one in a Composition
	inline     bool   // it is in a Composition
	doc        source.Document
	fields     map[string]json.RawMessage // by canonical name
	kust       types.Kustomization        // without the three lists
	catalogs   []fnconfig.CatalogRef
	below      map[string][]string // the roots of the directories that it names, by written path
	components *components
	roots      []string // the directories that together are this kustomization to kustomize
	scalars    map[*yaml.Node]scalars
}

// file returns the file of the kustomization.
func (k *kustomization) file() source.Place {
	return source.Place{Dir: filepath.Join(k.Dir, filepath.Base(k.doc.File)), Display: k.doc.File}
}

func newPlan(r *source.Reader, evaluate Evaluate) *plan {
	return &plan{
		Reader: composition.NewReader(r), evaluate: evaluate,
		output: output{
			overlay: newTree(r.FS), configs: map[string][]string{}, virtual: map[string]source.Place{}, origins: map[string]string{}, builtins: map[builtinAt]string{},
		},
		kustomizations: map[string]*kustomization{}, composed: map[string]string{}, dirs: new(int), paths: map[string]*pathInfo{},
	}
}

// load reads the kustomization in a directory and everything that it refers to. A directory to
// which two others refer is read once.
func (p *plan) load(ctx context.Context, at source.Place) (*kustomization, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave, err := p.Enter(at)
	if err != nil {
		return nil, err
	}
	defer leave()
	if k, ok := p.kustomizations[at.Dir]; ok {
		return k, nil
	}
	k, err := p.read(at)
	if err != nil {
		return nil, err
	}
	p.kustomizations[at.Dir] = k
	if len(p.Places) == 1 {
		p.metadata = hasElements(k.fields["buildMetadata"])
	}
	return k, p.rewrite(ctx, k)
}

// rewrite checks a kustomization and everything that it refers to, and writes its lists as
// kustomize will see them. It reports all errors and not only the first.
func (p *plan) rewrite(ctx context.Context, k *kustomization) error {
	lists, err := p.takeLists(k)
	if err != nil {
		return err
	}
	if err := k.decode(); err != nil {
		return err
	}
	k.checkSpellings(p)
	errs := []error{k.checkPaths(p), k.checkTexts(), p.descend(ctx, k)}
	k.components = p.newComponents(k.file())
	k.components.list = []*component{{root: k.root, name: k.name, fields: k.fields}}
	for _, list := range lists {
		errs = append(errs, p.rewriteList(ctx, k, list))
	}
	return errors.Join(append(errs, k.finish(p, len(lists) > 0))...)
}

// serve adds the rewritten kustomizations to the tree that kustomize will read.
func (p *plan) serve() error {
	if err := p.redirectData(); err != nil {
		return err
	}
	for _, cs := range p.virtuals {
		if err := cs.write(); err != nil {
			return err
		}
	}
	for path, docs := range p.configs {
		p.overlay.Files[path] = []byte(strings.Join(docs, "---\n"))
	}
	return nil
}
