package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// override lays the overrides of a Composition over what it imports.
func (c *composition) override(before, after [][]*transformer) (b, a [][]*transformer, err error) {
	if len(c.overrides) == 0 {
		return before, after, nil
	}
	if len(c.imports) == 0 {
		key, _ := c.doc.field(overridesField)
		return nil, nil, c.doc.errorf(key, "%s without %s: an override changes what is imported", overridesField, importsField)
	}
	over := map[identity][]*transformer{}
	used := map[identity]bool{}
	var many *transformer
	for _, o := range c.overrides {
		over[o.identity()] = append(over[o.identity()], o)
	}
	lay := func(lists [][]*transformer) [][]*transformer {
		out := make([][]*transformer, len(lists))
		// One that comes by two ways stays one.
		for i, list := range lists {
			out[i] = make([]*transformer, len(list))
			for j, t := range list {
				id := t.identity()
				used[id] = true
				if len(over[id]) > 0 {
					changed := *t
					changed.over = append(slices.Clip(t.over), over[id]...)
					if len(changed.over) > maxOverrides {
						many = t
					}
					t = &changed
				}
				out[i][j] = t
			}
		}
		return out
	}
	b, a = lay(before), lay(after)
	if many != nil {
		first := over[many.identity()][0]
		return nil, nil, first.tooMuch(first.document.node, "%s (%s) is overridden more than %d times", many.identity(), many.position(), maxOverrides)
	}
	var errs []error
	for _, o := range c.overrides {
		if !used[o.identity()] && len(errs) < mostErrors {
			errs = append(errs, c.overridesNothing(o, slices.Concat(append(before, after...)...)))
		}
	}
	return b, a, errors.Join(errs...)
}

// overridesNothing says what an override might have meant.
func (c *composition) overridesNothing(o *transformer, imported []*transformer) error {
	id := o.identity()
	msg := fmt.Sprintf("the override of %s (%s) matches no imported transformer", id, id.apiVersion)
	for _, t := range c.transformers {
		if t.identity() == id {
			return o.errorf(o.document.node, "%s: the one at %s is this Composition's own, change it there", msg, t.position())
		}
	}
	var alike []string
	for _, t := range imported {
		if (t.id.Kind == o.id.Kind || t.name == o.name) && len(alike) < mostErrors {
			alike = append(alike, fmt.Sprintf("%s (%s, %s)", t.identity(), t.id.APIVersion(), t.position()))
		}
	}
	switch {
	case len(alike) > 0:
		msg += "; there is " + strings.Join(alike, ", ")
	case len(imported) > 0:
		msg += "; imported are " + listTransformers(imported)
	default:
		msg += ": nothing is imported"
	}
	return o.errorf(o.document.node, "%s", msg)
}

// final is a config with everything laid over it, for kustomize's own kinds: they have no
// schema in a catalog, and lists are replaced.
func (t *transformer) final() (functionConfig, error) {
	if len(t.over) == 0 {
		return t.copied(), nil
	}
	l := &overlay{base: t.node}
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
	l := &overlay{base: plain}
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
	s.Where, s.Work = t.position(), t.work.dir
	s = s.overriddenBy(l, lists)
	if runtime != nil {
		s.Dir = names.at.dir
		s.Inline, err = names.inlineOf(yaml.NewRNode(runtime), runtime.Line, fieldOfRuntime)
	}
	return s, err
}
