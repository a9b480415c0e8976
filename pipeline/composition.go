package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The type of a Composition: KEP-2299, "API schema".
const (
	compositionAPIVersion = "kustomize.config.k8s.io/v1alpha1"
	compositionKind       = "Composition"
)

// The fields of a Composition: KEP-2299, "API schema"; modules is KEP-2906's word for
// transformers.
const (
	importsField      = "transformersFrom"
	transformersField = "transformers"
	modulesField      = "modules"
	overridesField    = "transformerOverrides"
	orderField        = "transformerOrder"
)

func compositionFields() []string {
	return []string{
		"apiVersion", "kind", "metadata", importsField, transformersField, modulesField,
		overridesField, orderField, catalogsField,
	}
}

// composition is a Composition as it is written: nothing of what it imports is in it.
type composition struct {
	at           place
	doc          document
	imports      []imported
	transformers []*transformer
	overrides    []*transformer
	order        []orderEntry
	catalogs     []CatalogRef

	overriding bool // what is read now are overrides
}

// file is where the Composition stands.
func (c *composition) file() place {
	return place{dir: filepath.Join(c.at.dir, filepath.Base(c.doc.file)), display: c.doc.file}
}

// transformer is an entry of a Composition's list: a config, where it is declared, and
// what overrides it. It is not changed once it was read: importers share it.
type transformer struct {
	functionConfig
	at   place // what its relative paths are relative to
	work place // of the Composition that lists it

	declared *transformer   // itself, before anything was overridden
	over     []*transformer // what is laid over it, in order
}

// imported is an entry of transformersFrom.
type imported struct {
	node *yaml.Node // of the path
	path string
	mode importMode
}

// importMode says on which side of a Composition's own transformers imported ones go.
type importMode string

const (
	prependMode importMode = "prepend" // the default
	appendMode  importMode = "append"
)

// orderEntry is an entry of transformerOrder: a name, and what else tells transformers of
// one name apart.
type orderEntry struct {
	node                              *yaml.Node
	apiVersion, kind, namespace, name string
}

// readComposition reads a Composition that is the one document of a file.
func (p *plan) readComposition(at place, name string) (*composition, error) {
	file := filepath.Join(at.display, name)
	dir, base, err := p.fsys.CleanedAbs(filepath.Join(at.dir, name))
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "cannot be read", Err: err}
	}
	if !p.options.LoadAnywhere && !disk.Within(at.dir, dir.Join(base)) {
		return nil, strayLink(file)
	}
	data, err := readConfigFile(p.fsys, dir.Join(base), file)
	if err != nil {
		return nil, err
	}
	docs, err := parseDocuments(file, data)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, &SyntaxError{Where: file, Msg: fmt.Sprintf("it holds %d documents, and has to hold one", len(docs))}
	}
	return p.decodeComposition(at, docs[0])
}

// decodeComposition reads a Composition, strictly, and reports everything wrong in it at
// once.
func (p *plan) decodeComposition(at place, d document) (*composition, error) {
	c := &composition{at: at, doc: d}
	if d.node.Kind != yaml.MappingNode {
		return nil, d.errorf(d.node, "a Composition is a mapping, this is %s", describe(d.node))
	}
	errs := []error{d.unknownFields(d.node, "", compositionFields()), c.checkType(), d.wellFormed()}
	var err error
	c.catalogs, err = catalogRefs(d, valueOf(d.node, catalogsField), at.dir)
	errs = append(errs, err, c.readImports())
	list := transformersField
	if valueOf(d.node, transformersField) == nil {
		list = modulesField
	}
	c.transformers, err = p.readList(c, list)
	errs = append(errs, err)
	c.overriding = true
	c.overrides, err = p.readList(c, overridesField)
	errs = append(errs, err, c.readOrder())
	return c, errors.Join(errs...)
}

// checkType checks what says that this is a Composition.
func (c *composition) checkType() error {
	d := c.doc
	var errs []error
	if _, kind := d.field("kind"); kind == nil || kind.Value != compositionKind {
		errs = append(errs, d.errorf(kind, "kind has to be %s", compositionKind))
	}
	if _, v := d.field("apiVersion"); v != nil && v.Value != compositionAPIVersion {
		errs = append(errs, d.errorf(v, "apiVersion of a Composition is %s, not %q", compositionAPIVersion, v.Value))
	}
	if key, _ := d.field(modulesField); key != nil {
		if other, _ := d.field(transformersField); other != nil {
			errs = append(errs, d.errorf(key, "transformers and modules are two names of one list: use one"))
		}
	}
	return errors.Join(errs...)
}

// list gives the entries of a field that is a list; none where it is not there.
func (d document) list(field string) ([]*yaml.Node, error) {
	n := valueOf(d.node, field)
	if n == nil || isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, d.errorf(n, "%s is a list, this is %s", field, describe(n))
	}
	return n.Content, nil
}

// readImports reads transformersFrom.
func (c *composition) readImports() error {
	entries, err := c.doc.list(importsField)
	errs := []error{err}
	for i, n := range entries {
		what := fmt.Sprintf("%s[%d]", importsField, i)
		fields, err := c.texts(n, what, "path", "importMode")
		errs = append(errs, err)
		if err != nil {
			continue
		}
		in := imported{node: fields["path"], mode: prependMode}
		if in.node == nil {
			errs = append(errs, c.doc.errorf(n, "%s needs a path: that of a Composition, or of its directory", what))
			continue
		}
		in.path = in.node.Value
		if mode := fields["importMode"]; mode != nil {
			if in.mode = importMode(mode.Value); in.mode != prependMode && in.mode != appendMode {
				errs = append(errs, c.doc.errorf(mode, "%s: importMode is prepend or append, not %q%s",
					what, mode.Value, didYouMean(mode.Value, []string{string(prependMode), string(appendMode)})))
			}
		}
		c.imports = append(c.imports, in)
	}
	return errors.Join(errs...)
}

// readOrder reads transformerOrder.
func (c *composition) readOrder() error {
	entries, err := c.doc.list(orderField)
	errs := []error{err}
	for i, n := range entries {
		what := fmt.Sprintf("%s[%d]", orderField, i)
		fields, err := c.texts(n, what, "name", "namespace", "kind", "apiVersion")
		errs = append(errs, err)
		if err != nil {
			continue
		}
		text := func(name string) string {
			if fields[name] == nil {
				return ""
			}
			return fields[name].Value
		}
		if fields["name"] == nil {
			errs = append(errs, c.doc.errorf(n, "%s needs a name", what))
			continue
		}
		c.order = append(c.order, orderEntry{n, text("apiVersion"), text("kind"), text("namespace"), text("name")})
	}
	return errors.Join(errs...)
}

// texts reads a mapping of texts, none of which may be empty.
func (c *composition) texts(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.doc.errorf(n, "%s is %s: a mapping with %s is expected", what, describe(n), known[0])
	}
	errs := []error{c.doc.unknownFields(n, what, known)}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
		case v.Kind != yaml.ScalarNode || v.ShortTag() != yaml.NodeTagString:
			errs = append(errs, c.doc.errorf(v, "%s: %s is text, this is %s", what, key.Value, describe(v)))
		case v.Value == "":
			errs = append(errs, c.doc.errorf(v, "%s: %s is empty", what, key.Value))
		default:
			fields[key.Value] = v
		}
	}
	return fields, errors.Join(errs...)
}

// readList reads the configs of a list: of transformers, or of overrides.
func (p *plan) readList(c *composition, field string) ([]*transformer, error) {
	entries, err := c.doc.list(field)
	errs := []error{err}
	var all []*transformer
	for i, n := range entries {
		found, err := p.readEntry(c, fmt.Sprintf("%s[%d]", field, i), n)
		if !c.overriding { // without an override, a function is another one
			err = p.leaveOut(err)
		}
		errs = append(errs, err)
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

// readEntry reads an entry: a config, the text of one, or the path of a file of configs.
func (p *plan) readEntry(c *composition, what string, n *yaml.Node) ([]*transformer, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return p.readTransformers(c, c.at, []document{{file: c.doc.file, node: n}})
	case n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || n.Value == "":
		return nil, c.doc.errorf(n, "%s is %s: a function config or the path of one is expected", what, describe(n))
	}
	docs, inline, err := c.doc.inlineText(n)
	if err != nil {
		return nil, err
	}
	if inline && len(docs) == 0 {
		return nil, c.doc.errorf(n, "%s holds no function config", what)
	}
	if inline {
		return p.readTransformers(c, c.at, docs)
	}
	f := fileRef{written: n.Value, at: c.at, where: c.doc.where(n)}
	if why := remoteForm(n.Value); why != "" && !p.fsys.Exists(f.place().dir) {
		return nil, f.errorf("%s: remote function configs are not supported yet: %s", n.Value, why)
	}
	if p.fsys.IsDir(f.place().dir) {
		return nil, f.errorf("%s: a directory is no list of function configs: name its files, or import a Composition by transformersFrom", n.Value)
	}
	real, err := p.confine(f)
	if err != nil {
		return nil, err
	}
	data, err := readConfigFile(p.fsys, real, f.place().display)
	if err != nil {
		return nil, err
	}
	if docs, err = parseDocuments(f.place().display, data); err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, f.errorf("%s holds no function config", n.Value)
	}
	return p.readTransformers(c, place{dir: filepath.Dir(real), display: filepath.Dir(f.place().display)}, docs)
}

// readTransformers reads configs. apiVersion may be left out of kustomize's own kinds
// (KEP-2299, in its examples).
func (p *plan) readTransformers(c *composition, at place, docs []document) ([]*transformer, error) {
	var all []*transformer
	var errs []error
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		// A list of configs is taken apart, as in the lists of a Kustomization.
		items, isList, err := d.items()
		if err != nil || isList {
			queue, errs = append(queue, items...), append(errs, err)
			continue
		}
		d.defaultVersion()
		f, err := readConfig(d)
		if err == nil && c.overriding {
			err = f.checkOverride()
		}
		if err == nil {
			err = p.checkConfig(f, at)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t := &transformer{functionConfig: f, at: at, work: c.at}
		t.declared = t
		all = append(all, t)
	}
	err := errors.Join(errs...)
	if err == nil && len(all) == 0 { // a list of none
		p.warn(docs[0].where(docs[0].node), "no function config stands here: nothing is run for it")
	}
	return all, err
}

// defaultVersion writes the apiVersion of a kind of kustomize's own, where there is none.
func (d document) defaultVersion() {
	_, kind := d.field("kind")
	if key, _ := d.field("apiVersion"); key != nil || kind == nil || d.node.Kind != yaml.MappingNode {
		return
	}
	var version string
	switch {
	case slices.Contains(builtinKinds(), kind.Value):
		version = builtinVersion
	case kind.Value == kustomizationKind:
		version = kustomizationAPIVersion
	default:
		return
	}
	d.node.Content = append([]*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "apiVersion"},
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: version},
	}, d.node.Content...)
}

// checkConfig looks at a config as it is declared, before anything is laid over it.
func (p *plan) checkConfig(f functionConfig, at place) error {
	switch {
	case f.builtin:
		t := pluginType(f.id.Kind)
		plain := f.plain()
		if err := errors.Join(plain.checkFields(t), plain.decode(reflect.New(t).Interface())); err != nil {
			return err
		}
		return errors.Join(f.checkTexts(), p.takePaths(f, at))
	case f.isKustomization():
		return errors.Join(f.plain().checkFields(reflect.TypeFor[inlineKustomization]()), f.checkTexts(), p.takePaths(f, at))
	case f.id.Group == kustomizeGroup:
		return f.errorf(f.document.node, "%s as a transformer is not supported: import a Composition by transformersFrom, or name its directory in a ResourceAccumulator", f.id.Kind)
	}
	return nil
}

// identity is what tells transformers apart: KEP-2299, "Notes". The namespace is empty for
// the default one, said or not: kustomize tells resources apart in the same way.
type identity struct{ apiVersion, kind, namespace, name string }

func (t *transformer) identity() identity {
	id := identity{t.id.APIVersion(), t.id.Kind, effective(t.node.GetNamespace()), t.name}
	if t.builtin && t.id.Kind == "NamespaceTransformer" {
		id.namespace = "" // there it is the one thing that is configured
	}
	return id
}

// String names a transformer for a person.
func (id identity) String() string {
	s := id.kind + " "
	if id.namespace != "" {
		s += id.namespace + "/"
	}
	return s + id.name
}

// place of the config, as a person would name it.
func (t *transformer) position() string { return t.where(t.document.node) }
