package composition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// override applies the overrides of a Composition to its imports.
func (c *composition) override(before, after [][]*Transformer) (b, a [][]*Transformer, err error) {
	if len(c.overrides) == 0 {
		return before, after, nil
	}
	if len(c.imports) == 0 {
		key, _ := c.Doc.Field(overridesField)
		return nil, nil, c.Doc.Errorf(key, "%s without %s: an override changes what is imported", overridesField, importsField)
	}
	over := map[identity][]*Transformer{}
	used := map[identity]bool{}
	var many *Transformer
	for _, o := range c.overrides {
		over[o.identity()] = append(over[o.identity()], o)
	}
	lay := func(lists [][]*Transformer) [][]*Transformer {
		out := make([][]*Transformer, len(lists))
		// One that is imported in two ways stays one.
		for i, list := range lists {
			out[i] = make([]*Transformer, len(list))
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
		return nil, nil, first.TooMuch(first.Document.Node, "%s (%s) is overridden more than %d times", many.identity(), many.Position(), maxOverrides)
	}
	var errs []error
	for _, o := range c.overrides {
		if !used[o.identity()] && len(errs) < MostErrors {
			errs = append(errs, c.overridesNothing(o, slices.Concat(append(before, after...)...)))
		}
	}
	return b, a, errors.Join(errs...)
}

// overridesNothing returns an error about an override that matches nothing, with a suggestion.
func (c *composition) overridesNothing(o *Transformer, imported []*Transformer) error {
	id := o.identity()
	msg := fmt.Sprintf("the override of %s (%s) matches no imported transformer", id, id.apiVersion)
	for _, t := range c.transformers {
		if t.identity() == id {
			return o.Errorf(o.Document.Node, "%s: the one at %s is this Composition's own, change it there", msg, t.Position())
		}
	}
	var alike []string
	for _, t := range imported {
		if (t.ID.Kind == o.ID.Kind || t.Name == o.Name) && len(alike) < MostErrors {
			alike = append(alike, fmt.Sprintf("%s (%s, %s)", t.identity(), t.ID.APIVersion(), t.Position()))
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
	return o.Errorf(o.Document.Node, "%s", msg)
}

// Final returns a builtin's config with its overrides. Builtins have no schema in a catalog, so
// lists are replaced.
func (t *Transformer) Final() (fnconfig.Config, error) {
	if len(t.over) == 0 {
		return t.Copied(), nil
	}
	l := &fnconfig.Overlay{Base: t.Node}
	for _, o := range t.over {
		patch := o.Copied()
		source.ForgetLines(patch.Document.Node) // they are lines of another file
		patch.NameListAs(t.Config)
		l.Over, l.Where = append(l.Over, patch.Node), append(l.Where, o.Position())
	}
	merged, _, err := l.Merge(nil)
	if err != nil {
		return fnconfig.Config{}, err
	}
	return t.with(merged), nil
}

// with returns the config with other content.
func (t *Transformer) with(n *yaml.RNode) fnconfig.Config {
	c := t.Config
	c.Node, c.Document.Node = n, n.YNode()
	return c
}

// Step returns the Step of a function: its config with its overrides. A runtime is not merged:
// the last one applies, and its paths are relative to the file that names it; null removes it. If
// its config has no name, the function gets the name of its transformer (KEP-2299, "Notes").
func (t *Transformer) Step(catalogs []fnconfig.CatalogRef) (fnconfig.Step, error) {
	base := t.Copied()
	names, runtime := t, base.Take(fnconfig.RuntimeField)
	if base.Node.GetName() == "" {
		if err := base.Node.PipeE(yaml.LookupCreate(yaml.MappingNode, "metadata"), yaml.SetField("name", yaml.NewStringRNode(t.Name))); err != nil {
			return fnconfig.Step{}, t.Errorf(t.Document.Node, "its metadata cannot be read: %v", err)
		}
	}
	plain, err := base.Normal()
	if err != nil {
		return fnconfig.Step{}, err
	}
	l := &fnconfig.Overlay{Base: plain}
	noted := t // the last one with an annotation that names a runtime
	for _, o := range t.over {
		patch := o.Copied()
		if given := patch.Take(fnconfig.RuntimeField); given != nil {
			names, runtime = o, given
			if yamldoc.IsNull(given) {
				names, runtime = t, nil
			}
		}
		if in, err := patch.Inline(); err == nil && in != nil {
			noted = o
		}
		over, err := patch.Normal()
		if err != nil {
			return fnconfig.Step{}, err
		}
		l.Over, l.Where = append(l.Over, over), append(l.Where, o.Position())
	}
	merged, lists, err := l.Merge(nil)
	switch {
	case err != nil && lists: // as far as it is known without the schema
		merged, _, err = l.Metadata().Merge(nil)
	case merged == plain:
		merged = base.Node
	}
	if err != nil {
		return fnconfig.Step{}, err
	}
	s, err := t.with(merged).Step(fnconfig.Transformer, noted.At, catalogs)
	if err != nil {
		return s, err
	}
	if s.Inline != nil {
		s.Inline.Where = noted.Position()
	}
	if s.Named != nil {
		s.Named.Where = noted.Position()
	}
	s.Where, s.Work = t.Position(), t.work.Dir
	s = s.OverriddenBy(l, lists)
	if runtime == nil {
		return s, nil
	}
	return names.runs(s, runtime)
}

// runs returns a Step with the field runtime of this transformer.
func (t *Transformer) runs(s fnconfig.Step, runtime *yaml.Node) (fnconfig.Step, error) {
	in, err := t.InlineOf(yaml.NewRNode(runtime), runtime.Line, fnconfig.FieldOfRuntime)
	if err != nil {
		return s, err
	}
	s.Dir, s.Only.Selection = t.At.Dir, in.Only
	return s.RunBy(in), nil
}
