package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// Consolidated is a Composition with all that it imports in it: KEP-2299, "Composition
// evaluation". Relative paths in it are relative to the directory of the Composition, so
// that it can be saved there in its place.
type Consolidated struct {
	File         string                    // of the Composition, in its directory
	Transformers []ConsolidatedTransformer // in the order in which they run
	Catalogs     []string                  // where functions are looked for, in order
	// Sources are the Composition itself, and then all that it imports at any depth, each
	// once.
	Sources []SourceFile
	// Outside is set where files are named that the load restrictor keeps from a
	// Composition in this directory.
	Outside bool

	at       place
	plan     *plan
	metadata *yaml.Node // of the Composition, nil for none
}

// ConsolidatedTransformer is one transformer of a consolidated Composition.
type ConsolidatedTransformer struct {
	APIVersion, Kind, Namespace, Name string
	From                              string   // file:line, relative to the directory of the Composition
	Overridden                        []string // the same, of each override in the order in which they apply
	// Step is the function; nil for what kustomize does itself.
	Step *Step

	of     *transformer
	config functionConfig // with everything laid over it, where there is no Step
}

// String names the transformer for a person.
func (t ConsolidatedTransformer) String() string {
	return identity{t.APIVersion, t.Kind, t.Namespace, t.Name}.String()
}

// Consolidate reads the Composition in dir and all that it imports, and runs nothing. Where
// the config of a Step depends on the function's schema (Step.SchemaMatters), it is for the
// caller to replace the Step by one that was merged with it.
func Consolidate(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (*Consolidated, error) {
	at, err := targetDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	name, err := compositionIn(fsys, at)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if found := kindsIn(fsys, at.dir).kustomization; len(found) > 0 {
			return nil, &SyntaxError{Where: filepath.Join(at.display, found[0]), Msg: "it is no Composition: there is nothing to consolidate"}
		}
		return nil, &SyntaxError{Where: dir, Msg: "there is no " + compositionFile, missing: true}
	}
	p := newPlan(fsys, o)
	line, err := p.consolidate(ctx, at, name)
	if err != nil {
		return nil, err
	}
	c := &Consolidated{File: name, at: at, plan: p, metadata: valueOf(line.of.doc.node, "metadata")}
	if err := c.addTransformers(line); err != nil {
		return nil, err
	}
	if err := c.addSources(ctx, line); err != nil {
		return nil, err
	}
	for _, ref := range line.catalogs {
		moved, err := c.mover(place{dir: ref.Dir}).place(ref.Declared)
		if err != nil {
			return nil, &SyntaxError{Where: ref.Where, Msg: err.Error()}
		}
		if !slices.Contains(c.Catalogs, moved) {
			c.Catalogs = append(c.Catalogs, moved)
		}
	}
	_, err = c.object() // and with it Outside
	return c, err
}

func (c *Consolidated) addTransformers(line *pipeline) error {
	var errs []error
	for _, t := range line.list {
		id := t.identity()
		one := ConsolidatedTransformer{
			APIVersion: id.apiVersion, Kind: id.kind, Namespace: id.namespace, Name: id.name,
			From: c.where(t), of: t,
		}
		for _, o := range t.over {
			one.Overridden = append(one.Overridden, c.where(o))
		}
		var err error
		if t.builtin || t.isKustomization() {
			one.config, err = t.final()
		} else {
			var step Step
			step, err = t.step(line.catalogs)
			one.Step = &step
		}
		errs = append(errs, err)
		c.Transformers = append(c.Transformers, one)
	}
	return errors.Join(errs...)
}

// where is the position of a config, from the directory of the Composition.
func (c *Consolidated) where(t *transformer) string {
	return document{file: c.fromHere(t.functionConfig.file)}.where(t.document.node)
}

// fromHere names a file from the directory of the Composition, as somebody would who stands
// there.
func (c *Consolidated) fromHere(file string) string {
	rel, err := filepath.Rel(c.at.display, file)
	if err != nil { // one of them is absolute
		rel = file
	}
	return filepath.ToSlash(rel)
}

// mover moves what is written elsewhere to the directory of the Composition.
func (c *Consolidated) mover(from place) *mover {
	return &mover{plan: c.plan, from: from, to: c.at.dir, outside: &c.Outside}
}

// value is the config of a transformer as it stands in a Composition.
func (c *Consolidated) value(t ConsolidatedTransformer) (map[string]any, error) {
	if t.Step == nil {
		config := t.config.copied()
		if err := c.mover(t.of.at).config(config.document); err != nil {
			return nil, err
		}
		v, err := config.value()
		if key, _ := t.of.field("apiVersion"); key != nil && key.Line == 0 {
			delete(v, "apiVersion") // nobody wrote it
		}
		return v, err
	}
	v, err := functionConfig{document: document{file: t.Step.Where, node: t.Step.Config.YNode()}}.value()
	if err != nil {
		return nil, err
	}
	runtime, err := c.mover(place{dir: t.Step.Dir}).inline(t.Step.Inline)
	if err != nil {
		return nil, &SyntaxError{Where: t.Step.Where, Msg: err.Error()}
	}
	if runtime != nil {
		v[runtimeField] = runtime
	}
	return v, nil
}

// object is the Composition as a value.
func (c *Consolidated) object() (map[string]any, error) {
	list := make([]any, len(c.Transformers))
	var errs []error
	for i, t := range c.Transformers {
		v, err := c.value(t)
		list[i], errs = v, append(errs, err)
	}
	o := map[string]any{"apiVersion": compositionAPIVersion, "kind": compositionKind, transformersField: list}
	if len(c.Catalogs) > 0 {
		o[catalogsField] = c.Catalogs
	}
	if c.metadata != nil && !isNull(c.metadata) {
		var meta map[string]any
		errs = append(errs, c.metadata.Decode(&meta))
		o["metadata"] = meta
	}
	return o, errors.Join(errs...)
}

// MarshalJSON writes the Composition as JSON.
func (c *Consolidated) MarshalJSON() ([]byte, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// restrictorNote says what it takes to render a Composition that names files elsewhere.
const restrictorNote = "# It names files outside of its directory: --load-restrictor LoadRestrictionsNone lets them be read.\n"

// YAML writes the Composition as YAML, with a comment above each transformer that says
// where it is from, and one for each override that is in it.
func (c *Consolidated) YAML() ([]byte, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if c.Outside {
		out.WriteString(restrictorNote)
	}
	list, _ := o[transformersField].([]any)
	if len(list) > 0 {
		delete(o, transformersField)
	}
	head, err := fieldsInOrder(o, "apiVersion", "kind", "metadata", catalogsField)
	if err != nil {
		return nil, err
	}
	out.Write(head)
	if len(list) > 0 {
		out.WriteString(transformersField + ":\n")
	}
	for i, t := range c.Transformers {
		comment(&out, "from", t.From)
		for _, o := range t.Overridden {
			comment(&out, "overridden at", o)
		}
		v, _ := list[i].(map[string]any)
		text, err := fieldsInOrder(v, "apiVersion", "kind", runtimeField, "metadata")
		if err != nil {
			return nil, err
		}
		item(&out, text)
	}
	return out.Bytes(), nil
}

// comment writes a line for people, and never more than a line.
func comment(out *bytes.Buffer, what, place string) {
	if strings.ContainsFunc(place, func(r rune) bool { return !unicode.IsPrint(r) }) {
		place = fmt.Sprintf("%q", place)
	}
	fmt.Fprintf(out, "# %s %s\n", what, place)
}

// item writes a mapping as an item of a list.
func item(out *bytes.Buffer, mapping []byte) {
	mark := "- "
	for line := range bytes.Lines(mapping) {
		if len(line) > 1 {
			out.WriteString(mark)
		}
		out.Write(line)
		mark = "  "
	}
}

// fieldsInOrder prints a mapping with some of its fields first, as people write them.
func fieldsInOrder(m map[string]any, first ...string) ([]byte, error) {
	rest := slices.DeleteFunc(sortedKeys(m), func(name string) bool { return slices.Contains(first, name) })
	var out bytes.Buffer
	for _, name := range slices.Concat(first, rest) {
		if _, ok := m[name]; !ok {
			continue
		}
		text, err := k8syaml.Marshal(map[string]any{name: m[name]})
		if err != nil {
			return nil, fmt.Errorf("printing %s: %w", name, err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
