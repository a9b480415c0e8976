package rewrite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// plan is a tree of kustomizations, read once and rewritten for kustomize.
type plan struct {
	*composition.Reader
	output
	runs
	helm   helmUse
	root   *layer
	layers map[string]*layer // by the directory in which kustomize sees them
	notes  []string

	composed map[string]string // where kustomize finds the resources of a Composition
	writing  writing
	evaluate Evaluate
	dirs     *int // directories of function configs, in all of the tree
	spots    map[string]*spot
	// metadata is set where buildMetadata asks for the origins of things. Each function is a
	// run of its own then, since each is recorded with the file in which it stands.
	metadata bool
}

// output is all that kustomize shall see, and what of it stands for what.
type output struct {
	overlay  *bridge.Tree
	sheets   []*sheet
	configs  map[string][]string     // virtual files of configs, by path
	virtual  map[string]source.Place // directories that only kustomize sees, and what they stand for
	origins  map[string]string       // virtual file name to the real path of the user's
	builtins map[builtinAt]string    // where the builtins of Reader stand
}

// helmUse is what of a target runs helm.
type helmUse struct {
	never bool   // a directory of function configs is evaluated before anything is granted
	runs  bool   // which kustomize gives a directory for temporary files, too
	where string // the first that needs helm
}

// layer is one kustomization file.
type layer struct {
	source.Place
	root     string // where kustomize sees it: its directory, where it has one to itself
	name     string // of the file
	real     string // the file, symbolic links followed; empty for one in a Composition
	inline   bool   // it stands in a Composition
	doc      source.Document
	fields   map[string]json.RawMessage // by canonical name
	kust     types.Kustomization        // without the three lists
	catalogs []fnconfig.CatalogRef
	below    map[string][]string // directories that it names, and where kustomize finds them
	sheet    *sheet
	lists    bool     // it has at least one of the three
	roots    []string // where kustomize finds all of it
	scalars  map[*yaml.Node]scalars
}

// file is where the layer stands.
func (l *layer) file() source.Place {
	return source.Place{Dir: filepath.Join(l.Dir, filepath.Base(l.doc.File)), Display: l.doc.File}
}

func newPlan(r *source.Reader, evaluate Evaluate) *plan {
	return &plan{
		Reader: composition.NewReader(r), evaluate: evaluate,
		output: output{
			overlay: newTree(r.FS), configs: map[string][]string{}, virtual: map[string]source.Place{}, origins: map[string]string{}, builtins: map[builtinAt]string{},
		},
		layers: map[string]*layer{}, composed: map[string]string{}, dirs: new(int), spots: map[string]*spot{},
	}
}

// load reads the kustomization in a directory and all below it. A directory that two
// others share is read once.
func (p *plan) load(ctx context.Context, at source.Place) (*layer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave, err := p.Enter(at)
	if err != nil {
		return nil, err
	}
	defer leave()
	if l, ok := p.layers[at.Dir]; ok {
		return l, nil
	}
	l, err := p.read(at)
	if err != nil {
		return nil, err
	}
	p.layers[at.Dir] = l
	if len(p.Places) == 1 {
		p.metadata = hasElements(l.fields["buildMetadata"])
	}
	return l, p.rewrite(ctx, l)
}

// rewrite checks a layer and all below it, and turns its lists into what kustomize shall
// see. Everything that is wrong is reported, and not the first of it.
func (p *plan) rewrite(ctx context.Context, l *layer) error {
	lists, err := p.takeLists(l)
	if err != nil {
		return err
	}
	if err := l.decode(); err != nil {
		return err
	}
	l.lists = len(lists) > 0
	l.checkSpellings(p)
	errs := []error{l.checkPaths(p), l.checkTexts(), p.descend(ctx, l)}
	l.sheet = p.newSheet(l.file())
	l.sheet.parts = []*part{{root: l.root, name: l.name, fields: l.fields}}
	for _, list := range lists {
		errs = append(errs, p.rewriteList(ctx, l, list))
	}
	return errors.Join(append(errs, l.settle(p))...)
}

// read decodes the one kustomization file of a directory.
func (p *plan) read(at source.Place) (*layer, error) {
	found := source.KindsIn(p.FS, at.Dir)
	switch {
	case len(found.Kustomization) > 1:
		return nil, &source.SyntaxError{Where: at.Display, Msg: "more than one kustomization file: " + strings.Join(found.Kustomization, ", ")}
	case len(found.Composition) > 0 && len(found.Kustomization) > 0:
		return nil, &source.SyntaxError{Where: at.Display, Msg: "both a kustomization and a composition file are there: a directory is one or the other (KEP-2299)"}
	case len(found.Kustomization) == 0:
		return nil, &source.SyntaxError{Where: at.Display, Msg: "no " + strings.Join(
			append(source.KustomizationNames(), source.CompositionFile), ", ") + " here"}
	}
	name := found.Kustomization[0]
	file := filepath.Join(at.Display, name)
	dir, base, err := p.FS.CleanedAbs(filepath.Join(at.Dir, name))
	if err != nil {
		return nil, &source.SyntaxError{Where: file, Msg: "cannot be read", Err: err}
	}
	real := dir.Join(base)
	if !p.Options.LoadAnywhere && !disk.Within(at.Dir, real) {
		return nil, source.StrayLink(file)
	}
	data, err := source.ReadConfigFile(p.FS, real, file)
	if err != nil {
		return nil, err
	}
	doc, err := p.FirstDocument(file, data)
	if err != nil {
		return nil, err
	}
	l := &layer{Place: at, root: at.Dir, name: name, real: real, doc: doc}
	if l.doc.Node.Kind != yaml.MappingNode {
		return nil, l.doc.Errorf(l.doc.Node, "a kustomization is a mapping, this is %s", yamldoc.Describe(l.doc.Node))
	}
	raw, err := source.FieldsOf(file, data)
	if err != nil {
		return nil, err
	}
	return l, p.canonical(l, raw)
}

// takeCatalogs reads `catalogs` and hides it from kustomize.
func (l *layer) takeCatalogs() error {
	if _, ok := l.fields[source.CatalogsField]; !ok {
		return nil
	}
	delete(l.fields, source.CatalogsField)
	_, node := l.doc.Field(source.CatalogsField)
	refs, err := fnconfig.CatalogRefs(l.doc, node, l.Dir)
	l.catalogs = refs
	return err
}

func hasElements(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}

// decode reads the fields as kustomize will, from the same JSON.
func (l *layer) decode() error {
	j, err := json.Marshal(l.fields)
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", l.doc.File, err)
	}
	if err := l.kust.Unmarshal(fnconfig.ASCII(j)); err != nil {
		return l.explain(err)
	}
	l.kust.FixKustomization()
	if errs := l.kust.EnforceFields(); len(errs) > 0 {
		key, _ := l.doc.Field("kind")
		if strings.HasPrefix(errs[0], "apiVersion") {
			key, _ = l.doc.Field("apiVersion")
		}
		return l.doc.Errorf(key, "%s", strings.Join(errs, "; "))
	}
	return nil
}

// explain gives a decoding error its place.
func (l *layer) explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name, _, _ := strings.Cut(wrong.Field, ".")
		_, at := l.doc.Field(name)
		return l.doc.Errorf(at, "%s: %s is expected, this is %s", wrong.Field, source.DescribeType(wrong.Type), source.DescribeJSON(wrong.Value))
	}
	if unknown := l.doc.Strangers(reflect.TypeFor[fnconfig.InlineKustomization](), true); unknown != nil {
		return unknown
	}
	return &source.SyntaxError{Where: l.doc.File, Msg: "not a kustomization", Err: err}
}

// checkOrder refuses what kustomize refuses of sortOptions, in its words, and which it would look at
// once all is built. It reads those of the target itself, and no others.
func (l *layer) checkOrder() error {
	o := l.kust.SortOptions
	key, at := l.doc.Field("sortOptions")
	switch {
	case o == nil:
	case o.Order != types.FIFOSortOrder && o.Order != types.LegacySortOrder:
		return l.doc.Errorf(cmp.Or(yamldoc.Field(at, "order"), key), "the field 'sortOptions.order' must be one of [%s, %s]", types.FIFOSortOrder, types.LegacySortOrder)
	case o.Order == types.FIFOSortOrder && o.LegacySortOptions != nil:
		return l.doc.Errorf(cmp.Or(yamldoc.Field(at, "legacySortOptions"), key),
			"the field 'sortOptions.legacySortOptions' is set but the selected sort order is '%v', not 'legacy'", o.Order)
	}
	return nil
}

// serve puts the rewritten kustomizations where kustomize will look for them.
func (p *plan) serve() error {
	if err := p.redirectData(); err != nil {
		return err
	}
	for _, s := range p.sheets {
		if err := s.write(); err != nil {
			return err
		}
	}
	for path, docs := range p.configs {
		p.overlay.Files[path] = []byte(strings.Join(docs, "---\n"))
	}
	return nil
}
