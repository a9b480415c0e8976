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
	data, err := fsys.ReadFile(filepath.Join(at.dir, name))
	if err != nil {
		return nil, &SyntaxError{Where: file, Msg: "cannot be read", Err: err}
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
	raw, err := yaml.NewRNode(node).MarshalJSON()
	if err != nil {
		return nil, c.doc.errorf(node, "catalogs cannot be read: %v", err)
	}
	return catalogRefs(c.doc, node, raw, c.at.dir)
}

// configs reads an entry: a config, or the path of a file of configs.
func (c *composition) configs(i int, n *yaml.Node) ([]functionConfig, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return c.readAll([]document{{file: c.doc.file, node: n}})
	case n.Kind != yaml.ScalarNode || n.Tag != yaml.NodeTagString || n.Value == "":
		return nil, c.doc.errorf(n, "transformers[%d] is %s: a function config or the path of one is expected", i, describe(n))
	}
	if why := remoteForm(n.Value); why != "" {
		return nil, c.doc.errorf(n, "%s: remote function configs are not supported yet: %s", n.Value, why)
	}
	real, err := c.file(n, n.Value)
	if err != nil {
		return nil, err
	}
	data, err := c.fsys.ReadFile(real)
	if err != nil {
		return nil, &SyntaxError{Where: c.doc.where(n), Msg: n.Value + " cannot be read", Err: err}
	}
	docs, err := parseDocuments(c.at.join(n.Value).display, data)
	if err != nil {
		return nil, err
	}
	return c.readAll(docs)
}

func (c *composition) readAll(docs []document) ([]functionConfig, error) {
	var configs []functionConfig
	for _, d := range docs {
		if d.node.Kind == yaml.MappingNode {
			if key, _ := d.field("apiVersion"); key == nil {
				// KEP-2299 examples leave the apiVersion of builtins out.
				d.node.Content = append(d.node.Content, yaml.NewStringRNode("apiVersion").YNode(), yaml.NewStringRNode(builtinVersion).YNode())
			}
		}
		f, err := readConfig(d)
		if err != nil {
			return nil, err
		}
		configs = append(configs, f)
	}
	return configs, nil
}

// unique refuses two transformers of one identity: KEP-2299, "Notes".
func (c *composition) unique(seen map[string]string, f functionConfig) error {
	key := fmt.Sprintf("%s %s/%s", f.id, f.node.GetNamespace(), f.name)
	where := f.where(f.document.node)
	if before, twice := seen[key]; twice {
		return f.errorf(f.document.node, "%s named %s stands twice (first at %s): give one of them another metadata.name", f.id.Kind, f.name, before)
	}
	seen[key] = where
	return nil
}

// add makes a stage of a transformer.
func (c *composition) add(f functionConfig, catalogs []CatalogRef) error {
	if f.builtin {
		return c.addBuiltin(f)
	}
	if f.id.Group == "kustomize.config.k8s.io" {
		return f.errorf(f.document.node, "%s as a transformer is not supported yet", f.id.Kind)
	}
	step, err := f.step(Transformer, c.at, catalogs)
	if err != nil {
		return err
	}
	c.stages = append(c.stages, stage{step: len(c.steps)})
	c.steps = append(c.steps, step)
	return nil
}

// addBuiltin makes a stage of files, under both names that the KEP has for it.
func (c *composition) addBuiltin(f functionConfig) error {
	if f.id.Kind != "ResourceGenerator" && f.id.Kind != "ResourceAccumulator" {
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
		real, err := c.file(n, n.Value)
		errs = append(errs, err)
		s.files, s.names = append(s.files, real), append(s.names, c.at.join(n.Value).display)
	}
	c.stages = append(c.stages, s)
	return errors.Join(errs...)
}

// file finds a file that a Composition names.
func (c *composition) file(n *yaml.Node, path string) (string, error) {
	if n.Kind != yaml.ScalarNode || path == "" {
		return "", c.doc.errorf(n, "a path is expected, this is %s", describe(n))
	}
	at := c.at.join(path)
	switch {
	case !c.fsys.Exists(at.dir):
		return "", c.doc.missing(n, path+": no such file")
	case c.fsys.IsDir(at.dir):
		return "", c.doc.errorf(n, "%s: a directory is not supported here yet", path)
	}
	dir, name, err := c.fsys.CleanedAbs(at.dir)
	if err != nil {
		return "", &SyntaxError{Where: c.doc.where(n), Msg: path + " cannot be read", Err: err}
	}
	if real := dir.Join(name); c.free || within(c.at.dir, real) {
		return real, nil
	}
	return "", c.doc.errorf(n, "%s is not in or below %s, and the load restrictor keeps files there", path, c.at.display)
}

// Kind implements Target.
func (c *composition) Kind() string { return compositionKind }

// Steps implements Target.
func (c *composition) Steps() []Step { return c.steps }

// Notes implements Target.
func (c *composition) Notes() []string { return nil }

// Build implements Target.
func (c *composition) Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error) {
	steps := newApplied(c.steps, apply)
	var items []*yaml.RNode
	var err error
	for _, s := range c.stages {
		if s.step < 0 {
			items, err = c.accumulate(items, s)
		} else {
			items, err = steps.run(ctx, s.step, items)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range items {
		if err := clean(n, orchestration); err != nil {
			return nil, err
		}
	}
	return items, steps.missing()
}

// accumulate appends the resources of files. A resource that is there already is an error,
// as in kustomize.
func (c *composition) accumulate(items []*yaml.RNode, s stage) ([]*yaml.RNode, error) {
	seen := make(map[resourceID]bool, len(items))
	for _, n := range items {
		seen[idOf(n)] = true
	}
	for i, file := range s.files {
		data, err := c.fsys.ReadFile(file)
		if err != nil {
			return nil, &SyntaxError{Where: s.where, Msg: s.names[i] + " cannot be read", Err: err}
		}
		docs, err := parseDocuments(s.names[i], data)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			n := yaml.NewRNode(d.node)
			id := idOf(n)
			if id.kind == "" || id.name == "" {
				return nil, d.errorf(d.node, "a resource needs a kind and a metadata.name")
			}
			if seen[id] {
				return nil, d.errorf(d.node, "%s is there already", id)
			}
			seen[id] = true
			items = append(items, n)
		}
	}
	return items, nil
}
