package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/spell"
)

// The type of a Composition: KEP-2299, "API schema".
const (
	compositionAPIVersion = "kustomize.config.k8s.io/v1alpha1"
	compositionKind       = "Composition"
)

// composition is a pipeline of functions, and of resources that are read from files.
type composition struct {
	fsys   filesys.FileSystem
	free   bool // files may lie anywhere
	at     place
	doc    document
	stages []stage
	steps  []Step
}

// stage is one transformer: a Step, or files.
type stage struct {
	step  int      // index of the Step; -1 for files
	files []string // real paths
	names []string // as written
	where string
}

// compositionFields are the fields of a Composition.
func compositionFields() []string {
	return []string{
		"apiVersion", "kind", "metadata", "transformersFrom", "transformers", "modules",
		"transformerOverrides", "transformerOrder", catalogsField,
	}
}

func loadComposition(ctx context.Context, fsys filesys.FileSystem, at place, o Options) (Target, error) {
	name := kindsIn(fsys, at.dir).composition[0]
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &composition{fsys: fsys, at: at, free: o.LoadAnywhere}
	file := filepath.Join(at.display, name)
	dir, base, err := fsys.CleanedAbs(filepath.Join(at.dir, name))
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "cannot be read", Err: err}
	}
	if !c.free && !within(at.dir, dir.Join(base)) {
		return nil, &SyntaxError{Where: file, Msg: "it is a link that leads out of its directory, and the load restrictor keeps files there"}
	}
	data, err := readConfigFile(fsys, dir.Join(base), file)
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
	c.doc = docs[0]
	if err := c.checkFields(); err != nil {
		return nil, err
	}
	return c, c.readTransformers()
}

// checkFields is strict: a field that would be ignored is an error.
func (c *composition) checkFields() error {
	d := c.doc
	if d.node.Kind != yaml.MappingNode {
		return d.errorf(d.node, "a Composition is a mapping, this is %s", describe(d.node))
	}
	var errs []error
	for i := 0; i < len(d.node.Content); i += 2 {
		key := d.node.Content[i]
		if !slices.Contains(compositionFields(), key.Value) {
			msg := fmt.Sprintf("unknown field %q", key.Value)
			if near := spell.Nearest(key.Value, compositionFields()); near != "" {
				msg += fmt.Sprintf(", did you mean %q?", near)
			}
			errs = append(errs, d.errorf(key, "%s", msg))
		}
	}
	if _, kind := d.field("kind"); kind == nil || kind.Value != compositionKind {
		errs = append(errs, d.errorf(kind, "kind has to be %s", compositionKind))
	}
	if _, v := d.field("apiVersion"); v != nil && v.Value != compositionAPIVersion {
		errs = append(errs, d.errorf(v, "apiVersion of a Composition is %s, not %q", compositionAPIVersion, v.Value))
	}
	for _, later := range []string{"transformersFrom", "transformerOverrides", "transformerOrder"} {
		if key, value := d.field(later); key != nil && !isNull(value) {
			errs = append(errs, d.errorf(key, "%s is not supported yet", later))
		}
	}
	if key, _ := d.field("modules"); key != nil {
		if other, _ := d.field("transformers"); other != nil {
			errs = append(errs, d.errorf(key, "transformers and modules are two names of one list: use one"))
		}
	}
	return errors.Join(errs...)
}

// readTransformers reads the pipeline, and reports everything wrong in it at once.
func (c *composition) readTransformers() error {
	catalogs, err := c.catalogs()
	if err != nil {
		return err
	}
	_, list := c.doc.field("transformers")
	if list == nil {
		_, list = c.doc.field("modules")
	}
	if list == nil || isNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return c.doc.errorf(list, "transformers is a list, this is %s", describe(list))
	}
	var errs []error
	names := map[string]string{}
	for i, n := range list.Content {
		configs, err := c.configs(i, n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range configs {
			errs = append(errs, c.unique(names, f), c.add(f, catalogs))
		}
	}
	return errors.Join(errs...)
}

func (c *composition) catalogs() ([]CatalogRef, error) {
	_, node := c.doc.field(catalogsField)
	if node == nil || isNull(node) {
		return nil, nil
	}
	return catalogRefs(c.doc, node, c.at.dir)
}

// configs reads an entry: a config, the text of one, or the path of a file of configs.
func (c *composition) configs(i int, n *yaml.Node) ([]transformer, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return c.readAll(c.at, []document{{file: c.doc.file, node: n}})
	case n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || n.Value == "":
		return nil, c.doc.errorf(n, "transformers[%d] is %s: a function config or the path of one is expected", i, describe(n))
	}
	docs, inline, err := c.doc.inlineText(n)
	if err != nil {
		return nil, err
	}
	if inline {
		return c.readAll(c.at, docs)
	}
	if why := remoteForm(n.Value); why != "" {
		return nil, c.doc.errorf(n, "%s: remote function configs are not supported yet: %s", n.Value, why)
	}
	real, err := c.file(c.doc, c.at, n)
	if err != nil {
		return nil, err
	}
	at := c.at.join(n.Value)
	data, err := readConfigFile(c.fsys, real, at.display)
	if err != nil {
		return nil, err
	}
	if docs, err = parseDocuments(at.display, data); err != nil {
		return nil, err
	}
	return c.readAll(place{dir: filepath.Dir(real), display: filepath.Dir(at.display)}, docs)
}

// transformer is a config, and the directory that its relative paths are relative to.
type transformer struct {
	functionConfig
	at place
}

func (c *composition) readAll(at place, docs []document) ([]transformer, error) {
	var configs []transformer
	for _, d := range docs {
		if key, _ := d.field("apiVersion"); key == nil && d.node.Kind == yaml.MappingNode {
			// KEP-2299 examples leave the apiVersion of builtins out.
			_, kind := d.field("kind")
			if kind == nil || !slices.Contains(builtinKinds(), kind.Value) {
				_, err := readConfig(d)
				return nil, err
			}
			d.node.Content = append(d.node.Content, yaml.NewStringRNode("apiVersion").YNode(), yaml.NewStringRNode(builtinVersion).YNode())
		}
		f, err := readConfig(d)
		if err != nil {
			return nil, err
		}
		configs = append(configs, transformer{f, at})
	}
	return configs, nil
}

// unique refuses two transformers of one identity: KEP-2299, "Notes".
func (c *composition) unique(seen map[string]string, f transformer) error {
	key := fmt.Sprintf("%s %s/%s", f.id, f.node.GetNamespace(), f.name)
	where := f.where(f.document.node)
	if before, twice := seen[key]; twice {
		return f.errorf(f.document.node, "%s named %s stands twice (first at %s): give one of them another metadata.name", f.id.Kind, f.name, before)
	}
	seen[key] = where
	return nil
}

// add makes a stage of a transformer.
func (c *composition) add(f transformer, catalogs []CatalogRef) error {
	if f.builtin {
		return c.addBuiltin(f)
	}
	if f.id.Group == "kustomize.config.k8s.io" {
		return f.errorf(f.document.node, "%s as a transformer is not supported yet", f.id.Kind)
	}
	step, err := f.step(Transformer, f.at, catalogs)
	if err != nil {
		return err
	}
	step.Work = c.at.dir
	c.stages = append(c.stages, stage{step: len(c.steps)})
	c.steps = append(c.steps, step)
	return nil
}

// addBuiltin makes a stage of files, under both names that the KEP has for it.
func (c *composition) addBuiltin(f transformer) error {
	if !slices.Contains(resourceKinds(), f.id.Kind) {
		return f.errorf(f.document.node, "the builtin %s is not supported in a Composition yet", f.id.Kind)
	}
	s := stage{step: -1, where: f.where(f.document.node)}
	var errs []error
	var listed *yaml.Node
	for i := 0; i < len(f.document.node.Content); i += 2 {
		key, value := f.document.node.Content[i], f.document.node.Content[i+1]
		switch key.Value {
		case "apiVersion", "kind", "metadata":
		case "files", "paths":
			if listed != nil {
				errs = append(errs, f.errorf(key, "files and paths are two names of one list: use one"))
			}
			listed = value
		default:
			msg := fmt.Sprintf("unknown field %q of a %s", key.Value, f.id.Kind)
			if near := spell.Nearest(key.Value, []string{"files", "paths", "metadata"}); near != "" {
				msg += fmt.Sprintf(", did you mean %q?", near)
			}
			errs = append(errs, f.errorf(key, "%s", msg))
		}
	}
	if listed == nil || listed.Kind != yaml.SequenceNode || len(listed.Content) == 0 {
		errs = append(errs, f.errorf(f.document.node, "a %s needs a list of files", f.id.Kind))
		return errors.Join(errs...)
	}
	for _, n := range listed.Content {
		if why := remoteForm(n.Value); why != "" {
			errs = append(errs, f.errorf(n, "%s: remote resources are not supported yet: %s", n.Value, why))
			continue
		}
		real, err := c.file(f.document, f.at, n)
		errs = append(errs, err)
		s.files, s.names = append(s.files, real), append(s.names, f.at.join(n.Value).display)
	}
	c.stages = append(c.stages, s)
	return errors.Join(errs...)
}

// file finds a file that a document names, relative to a directory.
func (c *composition) file(d document, base place, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", d.errorf(n, "a path is expected, this is %s", describe(n))
	}
	at := base.join(n.Value)
	switch {
	case !c.fsys.Exists(at.dir):
		return "", d.missing(n, n.Value+": no such file")
	case c.fsys.IsDir(at.dir):
		return "", d.errorf(n, "%s: a directory is not supported here yet", n.Value)
	}
	dir, name, err := c.fsys.CleanedAbs(at.dir)
	if err != nil {
		return "", &SyntaxError{Where: d.where(n), Msg: n.Value + " cannot be read", Err: err}
	}
	if real := dir.Join(name); c.free || within(c.at.dir, real) {
		return real, nil
	}
	return "", d.errorf(n, "%s is not in or below %s, and the load restrictor keeps files there", n.Value, c.at.display)
}
