package composition

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
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
		overridesField, orderField, source.CatalogsField,
	}
}

// composition is a Composition as it is written, without its imports.
type composition struct {
	at           source.Place
	Doc          source.Document
	imports      []imported
	transformers []*Transformer
	overrides    []*Transformer
	order        []orderEntry
	catalogs     []fnconfig.CatalogRef

	overriding bool // the overrides are being read
}

// File is the file of the Composition.
func (c *composition) File() source.Place {
	return source.Place{Dir: filepath.Join(c.at.Dir, filepath.Base(c.Doc.File)), Display: c.Doc.File}
}

// Transformer is an entry of a Composition's list: a config, its position, and its overrides.
// It is not changed after it was read, since importers share it.
type Transformer struct {
	fnconfig.Config
	At   source.Place // what its relative paths are relative to
	work source.Place // of the Composition that lists it

	Declared *Transformer   // itself, without overrides
	over     []*Transformer // its overrides, in order
}

// imported is an entry of transformersFrom.
type imported struct {
	node *yaml.Node // of the path
	path string
	mode importMode
}

// importMode says whether imported transformers come before or after the Composition's own.
type importMode string

const (
	prependMode importMode = "prepend" // the default
	appendMode  importMode = "append"
)

// orderEntry is an entry of transformerOrder: a name, and fields that distinguish transformers with
// the same name.
type orderEntry struct {
	node                              *yaml.Node
	apiVersion, kind, namespace, name string
}

// readComposition reads a Composition that is the one document of a file.
func (r *Reader) readComposition(at source.Place, name string) (*composition, error) {
	data, _, err := r.TargetFile(at, name)
	if err != nil {
		return nil, err
	}
	file := at.Join(name).Display
	docs, err := source.ParseDocuments(file, data)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, &source.SyntaxError{Where: file, Msg: fmt.Sprintf("it holds %d documents, and has to hold one", len(docs))}
	}
	return r.DecodeComposition(at, docs[0])
}

// DecodeComposition reads a Composition strictly, and reports all its errors at once.
func (r *Reader) DecodeComposition(at source.Place, d source.Document) (*composition, error) { //nolint:revive // callers need no name for its type
	c := &composition{at: at, Doc: d}
	if d.Node.Kind != yaml.MappingNode {
		return nil, d.Errorf(d.Node, "a Composition is a mapping, this is %s", yamldoc.Describe(d.Node))
	}
	errs := []error{d.UnknownFields(d.Node, "", compositionFields()), c.checkType(), d.WellFormed()}
	var err error
	c.catalogs, err = fnconfig.CatalogRefs(d, yamldoc.Field(d.Node, source.CatalogsField), at.Dir)
	errs = append(errs, err, c.readImports())
	list := transformersField
	if yamldoc.Field(d.Node, transformersField) == nil {
		list = modulesField
	}
	c.transformers, err = r.readList(c, list)
	errs = append(errs, err)
	c.overriding = true
	c.overrides, err = r.readList(c, overridesField)
	errs = append(errs, err, c.readOrder())
	return c, errors.Join(errs...)
}

// checkType checks the fields that make this a Composition.
func (c *composition) checkType() error {
	d := c.Doc
	var errs []error
	if _, kind := d.Field("kind"); kind == nil || kind.Value != source.CompositionKind {
		errs = append(errs, d.Errorf(kind, "kind has to be %s", source.CompositionKind))
	}
	if _, v := d.Field("apiVersion"); v != nil && v.Value != source.CompositionAPIVersion {
		errs = append(errs, d.Errorf(v, "apiVersion of a Composition is %s, not %q", source.CompositionAPIVersion, v.Value))
	}
	if key, _ := d.Field(modulesField); key != nil {
		if other, _ := d.Field(transformersField); other != nil {
			errs = append(errs, d.Errorf(key, "transformers and modules are two names of one list: use one"))
		}
	}
	return errors.Join(errs...)
}

// readImports reads transformersFrom.
func (c *composition) readImports() error {
	entries, err := c.Doc.List(importsField)
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
			errs = append(errs, c.Doc.Errorf(n, "%s needs a path: that of a Composition, or of its directory", what))
			continue
		}
		in.path = in.node.Value
		if mode := fields["importMode"]; mode != nil {
			if in.mode = importMode(mode.Value); in.mode != prependMode && in.mode != appendMode {
				errs = append(errs, c.Doc.Errorf(mode, "%s: importMode is prepend or append, not %q%s",
					what, mode.Value, source.DidYouMean(mode.Value, []string{string(prependMode), string(appendMode)})))
			}
		}
		c.imports = append(c.imports, in)
	}
	return errors.Join(errs...)
}

// readOrder reads transformerOrder.
func (c *composition) readOrder() error {
	entries, err := c.Doc.List(orderField)
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
			errs = append(errs, c.Doc.Errorf(n, "%s needs a name", what))
			continue
		}
		c.order = append(c.order, orderEntry{n, text("apiVersion"), text("kind"), text("namespace"), text("name")})
	}
	return errors.Join(errs...)
}

// texts reads a mapping of texts, none of which may be empty.
func (c *composition) texts(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.Doc.Errorf(n, "%s is %s: a mapping with %s is expected", what, yamldoc.Describe(n), known[0])
	}
	errs := []error{c.Doc.UnknownFields(n, what, known)}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
		case v.Kind != yaml.ScalarNode || v.ShortTag() != yaml.NodeTagString:
			errs = append(errs, c.Doc.Errorf(v, "%s: %s is text, this is %s", what, key.Value, yamldoc.Describe(v)))
		case v.Value == "":
			errs = append(errs, c.Doc.Errorf(v, "%s: %s is empty", what, key.Value))
		default:
			fields[key.Value] = v
		}
	}
	return fields, errors.Join(errs...)
}
