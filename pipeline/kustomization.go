package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// catalogsField is ours: kustomize never sees it.
const catalogsField = "catalogs"

// plan is a tree of kustomizations, read once and rewritten for kustomize.
type plan struct {
	fsys    filesys.FileSystem
	overlay *bridge.Tree
	options Options
	root    *layer

	layers   map[string]*layer // by the directory in which kustomize sees them
	stack    []place           // what is being read, for cycles
	steps    []Step
	runs     []run                // the Steps of each Step config
	names    map[string]string    // virtual file name to the path the user wrote
	origins  map[string]string    // the same by real path
	refs     map[string]fileRef   // names that stand for paths, in configs of Compositions
	builtins map[builtinAt]string // where the builtins of Compositions stand
	notes    []string

	pipelines map[string]*pipeline // by the real file of the Composition
	composed  map[string]string    // where kustomize finds the resources of a Composition
	virtual   map[string]place     // directories that only kustomize sees, and what they stand for
	writing   writing
	imported  int                 // transformers, counted each time they are
	sheets    []*sheet            // all that kustomize shall see
	configs   map[string][]string // virtual files of configs, by path
	runTexts  map[string]int      // the config of each run
	split     map[int]bool        // runs of which kustomize is told in two Steps
	// metadata is set where buildMetadata asks for the origins of things. Each function is a
	// run of its own then, since each is recorded with the file in which it stands.
	metadata  bool
	evaluated *int // directories of function configs, in all of the tree
	spots     map[string]*spot
	runsHelm  bool   // which kustomize gives a directory for temporary files, too
	helmWhere string // the first that needs helm
	noHelm    bool   // a directory of function configs is evaluated before anything is granted
}

// layer is one kustomization file.
type layer struct {
	place
	root     string // where kustomize sees it: its directory, where it has one to itself
	name     string // of the file
	real     string // the file, symbolic links followed; empty for one in a Composition
	inline   bool   // it stands in a Composition
	doc      document
	fields   map[string]json.RawMessage // by canonical name
	kust     types.Kustomization        // without the three lists
	catalogs []CatalogRef
	below    map[string][]string // directories that it names, and where kustomize finds them
	sheet    *sheet
	lists    bool     // it has at least one of the three
	roots    []string // where kustomize finds all of it
	scalars  map[*yaml.Node]scalars
}

// file is where the layer stands.
func (l *layer) file() place {
	return place{dir: filepath.Join(l.dir, filepath.Base(l.doc.file)), display: l.doc.file}
}

type kustomization struct{ *plan }

func loadKustomization(ctx context.Context, fsys filesys.FileSystem, at place, o Options) (Target, error) {
	p := newPlan(fsys, o)
	root, err := p.load(ctx, at)
	if err != nil {
		return nil, err
	}
	p.root = root
	if err := root.checkOrder(); err != nil {
		return nil, err
	}
	if len(root.roots) > 1 { // a Component that goes on in others
		dir, err := p.wrap(root.file(), nil, root.roots, nil)
		if err != nil {
			return nil, err
		}
		root.roots = []string{dir}
	}
	if err := p.serve(); err != nil {
		return nil, err
	}
	return &kustomization{p}, nil
}

// warn tells of something that is taken, and hardly meant.
func (p *plan) warn(where, msg string) {
	if p.options.Warn != nil {
		p.options.Warn(Warning{Where: where, Msg: msg})
	}
}

func newPlan(fsys filesys.FileSystem, o Options) *plan {
	return &plan{
		fsys: fsys, overlay: newTree(fsys), options: o,
		layers: map[string]*layer{}, names: map[string]string{}, origins: map[string]string{}, refs: map[string]fileRef{},
		evaluated: new(int), spots: map[string]*spot{}, pipelines: map[string]*pipeline{}, composed: map[string]string{}, virtual: map[string]place{}, builtins: map[builtinAt]string{}, configs: map[string][]string{}, runTexts: map[string]int{}, split: map[int]bool{},
	}
}

// Kind implements Target.
func (k *kustomization) Kind() string { return k.root.kust.Kind }

// Steps implements Target.
func (k *kustomization) Steps() []Step { return k.steps }

// Notes implements Target.
func (k *kustomization) Notes() []string { return k.notes }

// load reads the kustomization in a directory and all below it. A directory that two
// others share is read once.
func (p *plan) load(ctx context.Context, at place) (*layer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave, err := p.enter(at)
	if err != nil {
		return nil, err
	}
	defer leave()
	if l, ok := p.layers[at.dir]; ok {
		return l, nil
	}
	l, err := p.read(at)
	if err != nil {
		return nil, err
	}
	p.layers[at.dir] = l
	if len(p.stack) == 1 {
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
func (p *plan) read(at place) (*layer, error) {
	found := kindsIn(p.fsys, at.dir)
	switch {
	case len(found.kustomization) > 1:
		return nil, &SyntaxError{Where: at.display, Msg: "more than one kustomization file: " + strings.Join(found.kustomization, ", ")}
	case len(found.composition) > 0 && len(found.kustomization) > 0:
		return nil, &SyntaxError{Where: at.display, Msg: "both a kustomization and a composition file are there: a directory is one or the other (KEP-2299)"}
	case len(found.kustomization) == 0:
		return nil, &SyntaxError{Where: at.display, Msg: "no " + strings.Join(
			append(kustomizationNames(), compositionFile), ", ") + " here"}
	}
	name := found.kustomization[0]
	file := filepath.Join(at.display, name)
	dir, base, err := p.fsys.CleanedAbs(filepath.Join(at.dir, name))
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "cannot be read", Err: err}
	}
	real := dir.Join(base)
	if !p.options.LoadAnywhere && !disk.Within(at.dir, real) {
		return nil, strayLink(file)
	}
	data, err := readConfigFile(p.fsys, real, file)
	if err != nil {
		return nil, err
	}
	doc, err := p.firstDocument(file, data)
	if err != nil {
		return nil, err
	}
	l := &layer{place: at, root: at.dir, name: name, real: real, doc: doc}
	if l.doc.node.Kind != yaml.MappingNode {
		return nil, l.doc.errorf(l.doc.node, "a kustomization is a mapping, this is %s", describe(l.doc.node))
	}
	raw, err := fieldsOf(file, data)
	if err != nil {
		return nil, err
	}
	return l, p.canonical(l, raw)
}

// takeCatalogs reads `catalogs` and hides it from kustomize.
func (l *layer) takeCatalogs() error {
	if _, ok := l.fields[catalogsField]; !ok {
		return nil
	}
	delete(l.fields, catalogsField)
	_, node := l.doc.field(catalogsField)
	refs, err := catalogRefs(l.doc, node, l.dir)
	l.catalogs = refs
	return err
}

// catalogRefs reads a list of places.
func catalogRefs(d document, node *yaml.Node, dir string) ([]CatalogRef, error) {
	if node == nil || isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, d.errorf(node, "catalogs is a list of places (oci://…, oci-layout://…, https://…, or a file), this is %s", describe(node))
	}
	var refs []CatalogRef
	for _, n := range node.Content {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || strings.TrimSpace(n.Value) == "" {
			return nil, d.errorf(n, "a catalog is named by its place (oci://…, oci-layout://…, https://…, or a file), this is %s", describe(n))
		}
		refs = append(refs, CatalogRef{Declared: n.Value, Dir: dir, Where: d.where(n)})
	}
	return refs, nil
}

func hasElements(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}

// decode reads the fields as kustomize will, from the same JSON.
func (l *layer) decode() error {
	j, err := json.Marshal(l.fields)
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", l.doc.file, err)
	}
	if err := l.kust.Unmarshal(ascii(j)); err != nil {
		return l.explain(err)
	}
	l.kust.FixKustomization()
	if errs := l.kust.EnforceFields(); len(errs) > 0 {
		key, _ := l.doc.field("kind")
		if strings.HasPrefix(errs[0], "apiVersion") {
			key, _ = l.doc.field("apiVersion")
		}
		return l.doc.errorf(key, "%s", strings.Join(errs, "; "))
	}
	return nil
}

// explain gives a decoding error its place.
func (l *layer) explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name, _, _ := strings.Cut(wrong.Field, ".")
		_, at := l.doc.field(name)
		return l.doc.errorf(at, "%s: %s is expected, this is %s", wrong.Field, asked(wrong.Type), aTyped(wrong.Value))
	}
	var name string
	if _, scan := fmt.Sscanf(lastPart(err.Error()), "json: unknown field %q", &name); scan == nil {
		if err := l.doc.strangers(reflect.TypeFor[inlineKustomization](), true); err != nil {
			return err
		}
		return l.doc.errorf(findKey(l.doc.node, name), "unknown field %q", name)
	}
	return &SyntaxError{Where: l.doc.file, Msg: "not a kustomization", Err: err}
}

func lastPart(msg string) string {
	if i := strings.Index(msg, "json: unknown field"); i >= 0 {
		return msg[i:]
	}
	return msg
}

// findKey finds the first key of a name, at any depth.
func findKey(n *yaml.Node, name string) *yaml.Node {
	if key, _ := lookup(n, name); key != nil {
		return key
	}
	for _, c := range n.Content {
		if key := findKey(c, name); key != nil {
			return key
		}
	}
	return nil
}

// checkOrder refuses what kustomize refuses of sortOptions, in its words, and which it would look at
// once all is built. It reads those of the target itself, and no others.
func (l *layer) checkOrder() error {
	o := l.kust.SortOptions
	key, at := l.doc.field("sortOptions")
	switch {
	case o == nil:
	case o.Order != types.FIFOSortOrder && o.Order != types.LegacySortOrder:
		return l.doc.errorf(cmp.Or(valueOf(at, "order"), key), "the field 'sortOptions.order' must be one of [%s, %s]", types.FIFOSortOrder, types.LegacySortOrder)
	case o.Order == types.FIFOSortOrder && o.LegacySortOptions != nil:
		return l.doc.errorf(cmp.Or(valueOf(at, "legacySortOptions"), key),
			"the field 'sortOptions.legacySortOptions' is set but the selected sort order is '%v', not 'legacy'", o.Order)
	}
	return nil
}

// serve puts the rewritten kustomizations where kustomize will look for them.
func (p *plan) serve() error {
	if err := p.redirectData(); err != nil {
		return err
	}
	return p.serveSheets()
}

// serveSheets does so for what depends on which runs are split.
func (p *plan) serveSheets() error {
	for _, s := range p.sheets {
		if err := s.write(); err != nil {
			return err
		}
	}
	for path, docs := range p.configs {
		texts := make([]string, len(docs))
		for i, text := range docs {
			texts[i] = p.stepsOf(text)
		}
		p.overlay.Files[path] = []byte(strings.Join(texts, between))
	}
	return nil
}
