package target

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/kustomize/api/types"
)

// afterGenerators begins a part for what comes after some of the generators of a
// kustomization. All that kustomize does after it generated moves there.
func (s *sheet) afterGenerators() *part {
	before := s.last()
	next := s.cut()
	for name, raw := range before.fields {
		switch name {
		case "apiVersion", "kind", "metadata", "resources", "bases", "crds", "configurations", "openapi", "generatorOptions",
			"configMapGenerator", "secretGenerator", "helmGlobals", "helmCharts", "helmChartInflationGenerator", "buildMetadata", "sortOptions":
			continue
		}
		next.fields[name] = raw
		delete(before.fields, name)
	}
	return next
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
	if vars, ok := l.fields["vars"]; ok {
		end := l.sheet.last()
		end.fields["vars"] = vars
		delete(l.fields, "vars")
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
		return fmt.Errorf("planning %s: %w", l.display, err)
	}
	l.roots = []string{root}
	return nil
}
