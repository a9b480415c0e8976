package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
)

// layers is a functionConfig and what is laid over it, where the result depends on the
// function's own schema: that is known only once the function is found.
type layers struct {
	base  *yaml.RNode
	over  []*yaml.RNode
	where []string // of over
}

// SchemaMatters tells whether the config depends on the function's own schema: an override
// has a list where the config has one, and only the schema says by which keys lists merge.
func (s Step) SchemaMatters() bool { return s.layers != nil }

// Overridden lists where the overrides of the config stand, in the order in which they apply.
func (s Step) Overridden() []string { return s.overridden }

// WithSchema is the Step with its config merged as the function's schema says, an
// openAPIV3Schema; nil for none, then lists are replaced. KEP-2299, "API schema".
func (s Step) WithSchema(schema *yaml.RNode) (Step, error) {
	if s.layers == nil {
		return s, nil
	}
	merged, _, err := s.layers.merge(schema)
	if err != nil {
		return s, err
	}
	s.Config, err = functionConfig{document: document{file: s.Where, node: merged.YNode()}}.normal()
	return s, err
}

// merge lays every override over the base. lists tells whether the schema would matter, for
// an error too: a list that has no keys may have some with the schema.
func (l *layers) merge(schema *yaml.RNode) (merged *yaml.RNode, lists bool, err error) {
	merged = l.base
	for i, patch := range l.over {
		next, met, err := openapi.Merge(merged, patch, schema)
		lists = lists || met
		var wrong *openapi.MergeError
		if errors.As(err, &wrong) {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: fmt.Sprintf("the override does not fit: %s: %s", wrong.Path, wrong.Msg)}
		}
		if err != nil {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: "the override does not fit", Err: err}
		}
		if next == nil {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: "the override deletes the whole: an import is taken as it is, or not at all"}
		}
		merged = next
	}
	return merged, lists, nil
}

// metadata is what overrides say of the metadata, and of nothing else.
func (l *layers) metadata() *layers {
	out := &layers{base: l.base, where: l.where}
	for _, patch := range l.over {
		only := yaml.NewMapRNode(nil)
		if f := patch.Field("metadata"); f != nil {
			only.YNode().Content = []*yaml.Node{f.Key.YNode(), f.Value.YNode()}
		}
		out.over = append(out.over, only)
	}
	return out
}

// checkOverride refuses overrides of what tells a transformer from others.
func (c functionConfig) checkOverride() error {
	if _, v := c.field("metadata"); v != nil && isNull(v) {
		return c.errorf(v, "an override cannot take away the metadata: the name is there")
	}
	return nil
}

// patchDirective says in an override how it is laid over what is there.
const patchDirective = "$patch"

// plain is a config without the directives of overrides, for those who know only fields.
// openapi.Merge refuses them where they have no meaning.
func (c functionConfig) plain() functionConfig {
	c = c.copied()
	withoutDirectives(c.document.node)
	return c
}

func withoutDirectives(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); {
			if n.Content[i].Value == patchDirective {
				n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
				continue
			}
			i += 2
		}
	}
	for _, c := range n.Content {
		withoutDirectives(c)
	}
}

// copied is a config that can be changed.
func (c functionConfig) copied() functionConfig {
	c.node = c.node.Copy()
	c.document.node = c.node.YNode()
	return c
}

// take removes a top-level field, and returns its value; nil where it is not there.
func (c functionConfig) take(name string) *yaml.Node {
	n := c.document.node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			value := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return value
		}
	}
	return nil
}

// final is a config with everything laid over it, for kustomize's own kinds: they have no
// schema in a catalog, and lists are replaced.
func (t *transformer) final() (functionConfig, error) {
	if len(t.over) == 0 {
		return t.copied(), nil
	}
	l := &layers{base: t.node}
	for _, o := range t.over {
		patch := o.copied()
		forgetLines(patch.document.node) // they are lines of another file
		patch.nameListAs(t.functionConfig)
		l.over, l.where = append(l.over, patch.node), append(l.where, o.position())
	}
	merged, _, err := l.merge(nil)
	if err != nil {
		return functionConfig{}, err
	}
	return t.with(merged), nil
}

// nameListAs writes the list of an accumulator under the name that another config has for it.
func (c functionConfig) nameListAs(base functionConfig) {
	if !slices.Contains(resourceKinds(), c.id.Kind) {
		return
	}
	for _, names := range [][2]string{{"files", "paths"}, {"paths", "files"}} {
		if key, _ := c.field(names[0]); key != nil && valueOf(base.document.node, names[1]) != nil && valueOf(c.document.node, names[1]) == nil {
			key.Value = names[1]
			return
		}
	}
}

// with is the config with another content.
func (t *transformer) with(n *yaml.RNode) functionConfig {
	c := t.functionConfig
	c.node, c.document.node = n, n.YNode()
	return c
}

// step makes a Step of a function: its config with everything laid over it. A runtime is
// not merged: the last one that is named holds, and its paths are relative to where it is
// named; null takes it away. The function is told the name that it goes by, where its config
// has none (KEP-2299, "Notes").
func (t *transformer) step(catalogs []CatalogRef) (Step, error) {
	base := t.copied()
	names, runtime := t, base.take(runtimeField)
	if base.node.GetName() == "" {
		if err := base.node.PipeE(yaml.LookupCreate(yaml.MappingNode, "metadata"), yaml.SetField("name", yaml.NewStringRNode(t.name))); err != nil {
			return Step{}, t.errorf(t.document.node, "its metadata cannot be read: %v", err)
		}
	}
	plain, err := base.normal()
	if err != nil {
		return Step{}, err
	}
	l := &layers{base: plain}
	noted := t // where an annotation last names a runtime
	for _, o := range t.over {
		patch := o.copied()
		if given := patch.take(runtimeField); given != nil {
			names, runtime = o, given
			if isNull(given) {
				names, runtime = t, nil
			}
		}
		if in, err := patch.inline(); err == nil && in != nil {
			noted = o
		}
		over, err := patch.normal()
		if err != nil {
			return Step{}, err
		}
		l.over, l.where = append(l.over, over), append(l.where, o.position())
	}
	merged, lists, err := l.merge(nil)
	switch {
	case err != nil && lists: // what can be told without the schema
		merged, _, err = l.metadata().merge(nil)
	case merged == plain:
		merged = base.node
	}
	if err != nil {
		return Step{}, err
	}
	s, err := t.with(merged).step(Transformer, noted.at, catalogs)
	if err != nil {
		return s, err
	}
	if s.Inline != nil {
		s.Inline.Where = noted.position()
	}
	s.Where, s.Work, s.overridden = t.position(), t.work.dir, l.where
	if lists {
		s.layers = l
	}
	if runtime != nil {
		s.Dir = names.at.dir
		s.Inline, err = names.inlineOf(yaml.NewRNode(runtime), runtime.Line, fieldOfRuntime)
	}
	return s, err
}
