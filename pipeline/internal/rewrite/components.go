package rewrite

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// components is the sequence of virtual Components that kustomize sees in place of a kustomization
// or of a Composition. Each continues with the resources of the one before it. Within one
// kustomization, kustomize has a fixed order: resources, generators, components, transformers,
// validators. A new Component begins where another order is needed.
type components struct {
	plan  *plan
	of    source.Place // the file from which they are made
	from  source.Place // the Composition that is being written, if a list names its path
	filed bool         // functions see the files of resources: it is a Composition in one
	whole bool         // it is the target itself, whose files are recorded
	list  []*component
	open  *Run // the run to which the next function is added, nil for none
}

// component is one virtual Component. The first of a user's kustomization is that kustomization
// itself, rewritten.
type component struct {
	root       string                     // the directory in which kustomize sees it
	name       string                     // the name of the file
	fields     map[string]json.RawMessage // in the first of a kustomization, the user's fields
	resources  []string                   // added to the resources in fields
	read       Read                       // the files in resources that are recorded
	generators []string
	then       [2][]string       // transformers, validators
	ids        map[listedID]bool // ids of builtins in the lists; true for those of a Composition
	full       bool              // no resources and generators can be added
	sealed     bool              // it is planned elsewhere, and nothing can be added
}

// newComponents returns a new, empty sequence.
func (p *plan) newComponents(of source.Place) *components {
	cs := &components{plan: p, of: of}
	p.virtuals = append(p.virtuals, cs)
	return cs
}

// last returns the Component that is being written.
func (cs *components) last() *component {
	if n := len(cs.list); n > 0 && !cs.list[n-1].sealed {
		return cs.list[n-1]
	}
	return cs.cut()
}

// cut begins a new Component and returns it.
func (cs *components) cut() *component {
	cs.open = nil
	vc := &component{root: cs.plan.virtualRoot(cs.of), name: source.KustomizationNames()[0], fields: map[string]json.RawMessage{
		"apiVersion": quoted(types.ComponentVersion), "kind": quoted(types.ComponentKind),
		"resources": json.RawMessage("[]"), // kustomize refuses an empty kustomization
	}}
	cs.list = append(cs.list, vc)
	return vc
}

// forTransformer returns a Component whose list of transformers is not too long: kustomize compares
// each transformer with all others of its list.
func (cs *components) forTransformer() *component {
	if vc := cs.last(); len(vc.then[0]) < maxList {
		return vc
	}
	return cs.cut()
}

// forGenerator returns a Component to which resources and generators can be added.
func (cs *components) forGenerator() *component {
	if vc := cs.last(); !vc.full {
		return vc
	}
	return cs.cut()
}

// forResources returns a Component to which files of resources can be added. It has no generators,
// because kustomize reads files before it generates.
func (cs *components) forResources() *component {
	if vc := cs.forGenerator(); len(vc.generators) == 0 {
		return vc
	}
	return cs.cut()
}

// component adds Components that are planned elsewhere. What is added after them begins a new
// Component.
func (cs *components) component(roots ...string) {
	for _, root := range roots {
		cs.list = append(cs.list, &component{root: root, sealed: true})
	}
	cs.open = nil
}

// generate adds the text of a config to the generators of a Component, which must be one from
// forGenerator.
func (cs *components) generate(vc *component, text string) {
	vc.generators = append(vc.generators, cs.entry(vc, text))
}

// entry returns the entry for the text of a config in a list of a Component. This is the text
// itself, or the name of a virtual file if the user's list names the path of a Composition. The
// difference matters because kustomize runs inline entries before files.
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

// function plans a Step, and returns the text of a config for its run. The text is empty if the
// Step is added to the open run.
func (cs *components) function(step fnconfig.Step) string {
	p := cs.plan
	step.Filed = cs.filed
	if cs.open != nil && step.Role != fnconfig.Generator && !p.metadata {
		p.runs.step(cs.open, step)
		return ""
	}
	cs.open = &Run{}
	p.runs.step(cs.open, step)
	return p.runs.add(cs.open)
}

// roots returns the directories in which kustomize sees the Components.
func (cs *components) roots() []string {
	var roots []string
	for _, vc := range cs.list {
		roots = append(roots, vc.root)
	}
	return roots
}

// write adds the Components that are planned here to the tree.
func (cs *components) write() error {
	for _, vc := range cs.list {
		if vc.sealed { // its own sequence writes it
			continue
		}
		if err := vc.write(cs.plan); err != nil {
			return err
		}
	}
	return nil
}

// write adds the kustomization file of the Component to the tree.
func (vc *component) write(p *plan) error {
	fields := maps.Clone(vc.fields)
	transformers := vc.then[0]
	if !vc.read.empty() && p.recordsFiles() { // before they are changed
		transformers = slices.Insert(slices.Clone(transformers), 0, p.runs.addRead(vc.read))
	}
	for field, more := range map[string][]string{
		"resources": vc.resources, "generators": vc.generators, "transformers": transformers, "validators": vc.then[1],
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

// virtualRoot creates a directory that exists only for kustomize and returns it. It is outside all
// directories of the user, because kustomize reports a directory above or below another one as a
// cycle.
func (p *plan) virtualRoot(of source.Place) string {
	root := filepath.VolumeName(of.Dir) + string(filepath.Separator) + fmt.Sprintf("%s%d", source.OwnPrefix, len(p.overlay.Dirs))
	p.overlay.Dirs[root] = true
	p.virtual[root] = of
	return root
}

// wrap creates a kustomization that lists the directories of first as resources and then
// Components, and returns its directory.
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

// listedID identifies a config in a list, as kustomize does.
type listedID struct{ kind, namespace, name string }

func idInList(c fnconfig.Config) listedID {
	id := resid.ResId{Namespace: c.Node.GetNamespace()}
	return listedID{c.ID.Kind, id.EffectiveNamespace(), c.Name}
}

// lists records a builtin in a list of a Component. It reports whether the list already contains
// one with the same id, so that kustomize could not distinguish them: two Compositions in one list
// may use the same names. If the user wrote both in one kustomization, it reports false, and
// kustomize itself refuses them.
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

// forBuiltin records a builtin of a Composition and returns the Component that lists it: vc, or a
// new one if vc already contains its id.
func (cs *components) forBuiltin(c fnconfig.Config, vc *component) *component {
	if vc.lists(c, true) {
		vc = cs.cut()
		vc.lists(c, true)
	}
	return vc
}
