package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"sigs.k8s.io/kustomize/kyaml/yaml"
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
func (r *compositions) readComposition(at place, name string) (*composition, error) {
	file := filepath.Join(at.display, name)
	dir, base, err := r.fsys.CleanedAbs(filepath.Join(at.dir, name))
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "cannot be read", Err: err}
	}
	if !r.options.LoadAnywhere && !disk.Within(at.dir, dir.Join(base)) {
		return nil, strayLink(file)
	}
	data, err := readConfigFile(r.fsys, dir.Join(base), file)
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
	return r.decodeComposition(at, docs[0])
}

// decodeComposition reads a Composition, strictly, and reports everything wrong in it at
// once.
func (r *compositions) decodeComposition(at place, d document) (*composition, error) {
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
	c.transformers, err = r.readList(c, list)
	errs = append(errs, err)
	c.overriding = true
	c.overrides, err = r.readList(c, overridesField)
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
