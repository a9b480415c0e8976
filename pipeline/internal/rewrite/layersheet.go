package rewrite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// afterGenerators begins a part for what comes after some of the generators of a
// kustomization. All that kustomize does after it generated moves there.
func (w *listWriter) afterGenerators() (*part, error) {
	before, l := w.sheet.last(), w.layer
	next := w.sheet.cut()
	for _, name := range slices.Sorted(maps.Keys(before.fields)) {
		switch name {
		case "apiVersion", "kind", "metadata", "resources", "bases", "crds", "configurations", "openapi", "generatorOptions",
			"configMapGenerator", "secretGenerator", "helmGlobals", "helmChartInflationGenerator", "buildMetadata", "sortOptions":
			continue
		case "helmCharts":
			charts := slices.Clone(l.kust.HelmCharts)
			for i := range charts {
				charts[i].Namespace = cmp.Or(charts[i].Namespace, l.kust.Namespace) // which moves
			}
			raw, err := json.Marshal(charts)
			if err != nil {
				return nil, fmt.Errorf("writing helmCharts: %w", err)
			}
			before.fields[name] = raw
			continue
		}
		raw, err := w.plan.moveField(l, name, before.fields[name], next.root)
		if err != nil {
			return nil, err
		}
		next.fields[name] = raw
		delete(before.fields, name)
	}
	return next, nil
}

// moveField writes a field of a layer so that its paths mean the same from another
// directory.
func (p *plan) moveField(l *layer, name string, raw json.RawMessage, root string) (json.RawMessage, error) {
	if name == "components" {
		to := part{root: root}
		for _, path := range l.kust.Components {
			if err := to.take(l.below[path]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(to.resources)
	}
	var fields []string
	for _, f := range fnconfig.PathsOf(source.KustomizationKind) {
		if first, _, _ := strings.Cut(f, "."); strings.TrimRight(first, "[]?") == name {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		return raw, nil
	}
	holder, err := yaml.Parse(fmt.Sprintf("{%q: %s}", name, fnconfig.ASCII(raw)))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var errs []error
	for _, f := range fields {
		fnconfig.EachAt(holder.YNode(), fnconfig.SplitField(f), func(n *yaml.Node) {
			if !strings.HasSuffix(f, fnconfig.TextOrPath) || !fnconfig.IsPatchText(n.Value) {
				errs = append(errs, p.movePath(l, n, root))
			}
		})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return holder.Field(name).Value.MarshalJSON()
}

// movePath lets a path of a layer lead to the same file from another directory.
func (p *plan) movePath(l *layer, n *yaml.Node, root string) error {
	if yamldoc.IsNull(n) || n.Value == "" {
		return nil
	}
	if _, moved := p.Refs[n.Value]; !moved { // by an earlier Composition; checkPaths lets no user write such a name
		n.Value = p.Refer(p.refIn(l, n.Value))
	}
	return p.link(n.Value, root)
}

// settle ends the sheet of a layer: what kustomize does last moves to the last part.
func (l *layer) settle(p *plan) error {
	parts := l.sheet.parts
	if l.fields["resources"] == nil && l.lists {
		l.fields["resources"] = json.RawMessage("[]") // kustomize refuses what is empty, and the lists may have moved
	}
	if len(parts) == 1 {
		l.roots = []string{l.root}
		return nil
	}
	for _, part := range parts { // Reader among the generators may have moved them on already
		if vars, ok := part.fields["vars"]; ok {
			end := l.sheet.last()
			delete(part.fields, "vars")
			end.fields["vars"] = vars
			break
		}
	}
	if l.kust.Kind == types.ComponentKind {
		l.roots = l.sheet.roots()
		return nil
	}
	more := map[string]json.RawMessage{}
	for _, name := range []string{"buildMetadata", "sortOptions"} {
		if raw, ok := l.fields[name]; ok {
			more[name] = raw
		}
	}
	root, err := p.wrap(l.file(), []string{l.root}, l.sheet.roots()[1:], more)
	if err != nil {
		return fmt.Errorf("planning %s: %w", l.Display, err)
	}
	l.roots = []string{root}
	return nil
}
