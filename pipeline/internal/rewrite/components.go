package rewrite

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// components is the virtual Components that kustomize sees in the place of a kustomization or
// of a Composition, one after the other. Each continues with the resources of the one before
// it. Within one kustomization, kustomize has a fixed order: resources, generators, components,
// transformers, validators. Where another order is needed, a new Component begins.
type components struct {
	plan *plan
	of   source.Place // the file that it is made of
	from source.Place // the Composition that is being written, where a list names its path
	list []*component
	open *Run // the run that further functions join, nil for none
}

// component is one virtual Component. The first of a user's kustomization is that kustomization
// itself, rewritten.
type component struct {
	root       string                     // where kustomize sees it
	name       string                     // of the file
	fields     map[string]json.RawMessage // the user's own, in the first of a kustomization
	resources  []string                   // added to those of the fields
	generators []string
	then       [2][]string       // transformers, validators
	ids        map[listedID]bool // of the builtins in the lists; true for those of a Composition
	full       bool              // it can take no more resources and generators
	sealed     bool              // it is planned elsewhere and takes nothing
}

// newComponents begins a list without a kustomization of the user's.
func (p *plan) newComponents(of source.Place) *components {
	cs := &components{plan: p, of: of}
	p.virtuals = append(p.virtuals, cs)
	return cs
}

// last is the Component that is being written.
func (cs *components) last() *component {
	if n := len(cs.list); n > 0 && !cs.list[n-1].sealed {
		return cs.list[n-1]
	}
	return cs.cut()
}

// cut begins a new Component.
func (cs *components) cut() *component {
	cs.open = nil
	vc := &component{root: cs.plan.virtualRoot(cs.of), name: source.KustomizationNames()[0], fields: map[string]json.RawMessage{
		"apiVersion": quoted(types.ComponentVersion), "kind": quoted(types.ComponentKind),
		"resources": json.RawMessage("[]"), // kustomize refuses an empty kustomization
	}}
	cs.list = append(cs.list, vc)
	return vc
}

// short is a Component whose list of transformers is not too long: kustomize compares each with
// all others of its list.
func (cs *components) short() *component {
	if vc := cs.last(); len(vc.then[0]) < maxList {
		return vc
	}
	return cs.cut()
}

// early is a Component that can still take resources and generators.
func (cs *components) early() *component {
	if vc := cs.last(); !vc.full {
		return vc
	}
	return cs.cut()
}

// accumulate is a Component that can still take files of resources: they come before what is
// generated.
func (cs *components) accumulate() *component {
	if vc := cs.early(); len(vc.generators) == 0 {
		return vc
	}
	return cs.cut()
}

// component continues with Components that are planned elsewhere, and then with a new one.
func (cs *components) component(roots ...string) {
	for _, root := range roots {
		cs.list = append(cs.list, &component{root: root, sealed: true})
	}
	cs.open = nil
}

// generate adds the text of a config to the generators of a Component that can take them.
func (cs *components) generate(vc *component, text string) {
	vc.generators = append(vc.generators, cs.entry(vc, text))
}

// entry is how the text of a config stands in a list of a Component: as it is, or as the name
// of a file where the user's list names the file of a Composition. kustomize runs inline
// entries before files.
func (cs *components) entry(vc *component, text string) string {
	if cs.from.Dir == "" {
		return text
	}
	name := cs.plan.OwnFile("yaml", cs.from.Display)
	cs.plan.origins[name] = cs.from.Dir
	cs.plan.configs[filepath.Join(vc.root, name)] = []string{text}
	return name
}

// transform adds the text of a config to the transformers, or to the validators.
func (cs *components) transform(role fnconfig.Role, text string) {
	vc := cs.last()
	text = cs.entry(vc, text)
	if role == fnconfig.Validator {
		vc.then[1] = append(vc.then[1], text)
	} else {
		vc.then[0] = append(vc.then[0], text)
	}
	vc.full = true
}

// function plans a Step, and gives the text of a config for its run. The text is empty where
// the Step joins the open run.
func (cs *components) function(step fnconfig.Step) string {
	p := cs.plan
	if cs.open != nil && step.Role != fnconfig.Generator && !p.metadata {
		p.runs.step(cs.open, step)
		return ""
	}
	cs.open = &Run{}
	p.runs.step(cs.open, step)
	return p.runs.add(cs.open)
}

// roots lists the directories where kustomize finds the Components.
func (cs *components) roots() []string {
	var roots []string
	for _, vc := range cs.list {
		roots = append(roots, vc.root)
	}
	return roots
}

// write serves the Components that are planned here.
func (cs *components) write() error {
	for _, vc := range cs.list {
		if vc.sealed { // it is written where it is planned
			continue
		}
		if err := vc.write(cs.plan); err != nil {
			return err
		}
	}
	return nil
}

func (vc *component) write(p *plan) error {
	fields := maps.Clone(vc.fields)
	for field, more := range map[string][]string{
		"resources": vc.resources, "generators": vc.generators, "transformers": vc.then[0], "validators": vc.then[1],
	} {
		if len(more) == 0 {
			continue
		}
		var list []string
		if raw, ok := fields[field]; ok {
			if err := json.Unmarshal(raw, &list); err != nil {
				return fmt.Errorf("reading %s: %w", field, err)
			}
		}
		raw, err := json.Marshal(append(list, more...))
		if err != nil {
			return fmt.Errorf("writing %s: %w", field, err)
		}
		fields[field] = raw
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("writing a kustomization: %w", err)
	}
	p.overlay.Files[filepath.Join(vc.root, vc.name)] = fnconfig.ASCII(data)
	return nil
}

func quoted(s string) json.RawMessage { return json.RawMessage(fmt.Sprintf("%q", s)) }

// virtualRoot makes a directory that exists only for kustomize. It lies apart from all
// directories of the user: kustomize takes a directory above or below another one for a cycle.
func (p *plan) virtualRoot(of source.Place) string {
	root := filepath.VolumeName(of.Dir) + string(filepath.Separator) + fmt.Sprintf("%s%d", source.OwnPrefix, len(p.overlay.Dirs))
	p.overlay.Dirs[root] = true
	p.virtual[root] = of
	return root
}

// wrap makes a kustomization that lists some directories as resources and then some Components.
func (p *plan) wrap(of source.Place, first []string, components []string, more map[string]json.RawMessage) (string, error) {
	root := p.virtualRoot(of)
	vc := &component{root: root, name: source.KustomizationNames()[0], fields: map[string]json.RawMessage{
		"apiVersion": quoted(source.KustomizationAPIVersion), "kind": quoted(source.KustomizationKind), "resources": json.RawMessage("[]"),
	}}
	for field, dirs := range map[string][]string{"resources": first, "components": components} {
		var paths []string
		for _, dir := range dirs {
			rel, err := source.RelativeTo(root, dir)
			if err != nil {
				return "", err
			}
			paths = append(paths, rel)
		}
		if len(paths) > 0 {
			raw, err := json.Marshal(paths)
			if err != nil {
				return "", fmt.Errorf("writing %s: %w", field, err)
			}
			vc.fields[field] = raw
		}
	}
	for field, raw := range more {
		vc.fields[field] = raw
	}
	return root, vc.write(p)
}

// listedID is what kustomize tells the configs of one list apart by.
type listedID struct{ kind, namespace, name string }

func idInList(c fnconfig.Config) listedID {
	id := resid.ResId{Namespace: c.Node.GetNamespace()}
	return listedID{c.ID.Kind, id.EffectiveNamespace(), c.Name}
}

// lists records a builtin in a list of a Component. It reports whether another one of that id
// stands there, of which kustomize could not tell it apart: two Compositions in one list may
// use the same names. Where both are the user's own in one kustomization, kustomize refuses
// them itself.
func (vc *component) lists(c fnconfig.Config, ofComposition bool) (twice bool) {
	before, known := vc.ids[idInList(c)]
	if known && (before || ofComposition) {
		return true
	}
	if vc.ids == nil {
		vc.ids = map[listedID]bool{}
	}
	vc.ids[idInList(c)] = ofComposition
	return false
}

// listing is a Component that can list a builtin of a Composition: this one, or a new one.
func (cs *components) listing(c fnconfig.Config, vc *component) *component {
	if vc.lists(c, true) {
		vc = cs.cut()
		vc.lists(c, true)
	}
	return vc
}
