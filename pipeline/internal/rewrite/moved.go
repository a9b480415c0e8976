package rewrite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// afterGenerators begins a Component for resources that come after some of the generators of a
// kustomization, and returns it. The fields that kustomize applies after the generators move to
// that Component.
func (w *listWriter) afterGenerators() (*component, error) {
	before, k := w.components.last(), w.kustomization
	next := w.components.cut()
	for _, name := range slices.Sorted(maps.Keys(before.fields)) {
		switch name {
		case "apiVersion", "kind", "metadata", "resources", "bases", "crds", "configurations", "openapi", "generatorOptions",
			"configMapGenerator", "secretGenerator", "helmGlobals", "helmChartInflationGenerator", "buildMetadata", "sortOptions":
			continue
		case "helmCharts":
			charts := slices.Clone(k.kust.HelmCharts)
			for i := range charts {
				charts[i].Namespace = cmp.Or(charts[i].Namespace, k.kust.Namespace) // the field moves
			}
			raw, err := json.Marshal(charts)
			if err != nil {
				return nil, fmt.Errorf("writing helmCharts: %w", err)
			}
			before.fields[name] = raw
			continue
		}
		raw, err := w.plan.moveField(k, name, before.fields[name], next.root)
		if err != nil {
			return nil, err
		}
		next.fields[name] = raw
		delete(before.fields, name)
	}
	return next, nil
}

// moveField returns a field of a kustomization for another directory, with paths that refer to the
// same files from there.
func (p *plan) moveField(k *kustomization, name string, raw json.RawMessage, root string) (json.RawMessage, error) {
	if name == "components" {
		to := component{root: root}
		for _, path := range k.kust.Components {
			if err := to.take(k.below[path]); err != nil {
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
		fnconfig.EachAt(holder.YNode(), f, func(n *yaml.Node) {
			if !strings.HasSuffix(f, fnconfig.TextOrPath) || !fnconfig.IsPatchText(n.Value) {
				errs = append(errs, p.movePath(k, n, root))
			}
		})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return holder.Field(name).Value.MarshalJSON()
}

// movePath replaces a path of a kustomization by one for the same file from another directory.
func (p *plan) movePath(k *kustomization, n *yaml.Node, root string) error {
	if yamldoc.IsNull(n) || n.Value == "" {
		return nil
	}
	// The path may have been moved already, for an earlier Composition. The name is not the user's:
	// checkPaths refuses such names.
	if _, moved := p.Refs[n.Value]; !moved {
		n.Value = p.Refer(p.refIn(k, n.Value))
	}
	return p.link(n.Value, root)
}

// finish completes the Components of a kustomization and sets its roots. The field that kustomize
// applies last, vars, moves to the last Component.
func (k *kustomization) finish(p *plan, lists bool) error {
	list := k.components.list
	if k.fields["resources"] == nil && lists {
		// kustomize refuses an empty kustomization, and the lists may have moved.
		k.fields["resources"] = json.RawMessage("[]")
	}
	if len(list) == 1 {
		k.roots = []string{k.root}
		return nil
	}
	for _, one := range list { // vars may have moved already, for a Composition in generators
		if vars, ok := one.fields["vars"]; ok {
			end := k.components.last()
			delete(one.fields, "vars")
			end.fields["vars"] = vars
			break
		}
	}
	if k.kust.Kind == types.ComponentKind {
		k.roots = k.components.roots()
		return nil
	}
	more := map[string]json.RawMessage{}
	for _, name := range []string{"buildMetadata", "sortOptions"} {
		if raw, ok := k.fields[name]; ok {
			more[name] = raw
		}
	}
	root, err := p.wrap(k.file(), []string{k.root}, k.components.roots()[1:], more)
	if err != nil {
		return fmt.Errorf("planning %s: %w", k.Display, err)
	}
	k.roots = []string{root}
	return nil
}
