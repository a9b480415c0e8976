package rewrite

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// sheet is what kustomize shall see of a layer or of a Composition: Components, one after
// the other, each of which goes on where the one before it ended. kustomize runs what one
// kustomization holds in an order of its own (resources, generators, components,
// transformers, validators): where another order is asked for, a new Component begins.
type sheet struct {
	plan  *plan
	of    source.Place // the file that it is made of
	from  source.Place // the Composition whose transformers are written now, where a list names its path
	parts []*part
	open  *Run // the run that further functions join, nil for none
}

// part is one kustomization of a sheet.
type part struct {
	root       string                     // where kustomize sees it
	name       string                     // of the file
	fields     map[string]json.RawMessage // the user's own, in the first part of a layer
	resources  []string                   // added to those of the fields
	generators []string
	then       [2][]string       // transformers, validators
	ids        map[listedID]bool // of the builtins in the lists; true for those of a Composition
	full       bool              // no resource and no generator may come any more
	sealed     bool              // nothing may come any more
}

// newSheet begins a sheet that has no kustomization of a user's own.
func (p *plan) newSheet(of source.Place) *sheet {
	s := &sheet{plan: p, of: of}
	p.sheets = append(p.sheets, s)
	return s
}

// last is the part that is being written.
func (s *sheet) last() *part {
	if n := len(s.parts); n > 0 && !s.parts[n-1].sealed {
		return s.parts[n-1]
	}
	return s.cut()
}

// cut begins a new part.
func (s *sheet) cut() *part {
	s.open = nil
	next := &part{root: s.plan.virtualRoot(s.of), name: source.KustomizationNames()[0], fields: map[string]json.RawMessage{
		"apiVersion": quoted(types.ComponentVersion), "kind": quoted(types.ComponentKind),
		"resources": json.RawMessage("[]"), // kustomize refuses what is empty
	}}
	s.parts = append(s.parts, next)
	return next
}

// short is a part whose list of transformers is not too long: kustomize compares each with
// all others of its list.
func (s *sheet) short() *part {
	if p := s.last(); len(p.then[0]) < maxList {
		return p
	}
	return s.cut()
}

// listedID is what kustomize tells the configs of one list apart by.
type listedID struct{ kind, namespace, name string }

func idInList(c fnconfig.Config) listedID {
	id := resid.ResId{Namespace: c.Node.GetNamespace()}
	return listedID{c.ID.Kind, id.EffectiveNamespace(), c.Name}
}

// lists notes a builtin in a list of a part, and tells whether one of its id stands there
// already: two Compositions in one list know nothing of each other's names. Of two that are
// the user's own in one kustomization, kustomize says so.
func (pt *part) lists(c fnconfig.Config, ofComposition bool) (twice bool) {
	before, known := pt.ids[idInList(c)]
	if known && (before || ofComposition) {
		return true
	}
	if pt.ids == nil {
		pt.ids = map[listedID]bool{}
	}
	pt.ids[idInList(c)] = ofComposition
	return false
}

// listing is a part that can list a builtin of a Composition: this one, or a new one.
func (s *sheet) listing(c fnconfig.Config, pt *part) *part {
	if pt.lists(c, true) {
		pt = s.cut()
		pt.lists(c, true)
	}
	return pt
}

// early is a part that can still take resources and generators.
func (s *sheet) early() *part {
	if p := s.last(); !p.full {
		return p
	}
	return s.cut()
}

// accumulate adds a resource: files come before what is generated.
func (s *sheet) accumulate() *part {
	if p := s.early(); len(p.generators) == 0 {
		return p
	}
	return s.cut()
}

// component lets Components that stand elsewhere go on, and a new part after them.
func (s *sheet) component(roots ...string) {
	for _, root := range roots {
		s.parts = append(s.parts, &part{root: root, sealed: true})
	}
	s.open = nil
}

// generate adds the text of a config to the generators of a part that can take them.
func (s *sheet) generate(p *part, text string) {
	p.generators = append(p.generators, s.entry(p, text))
}

// entry is how the text of a config stands in a list of a part: as it is, or as the name of
// a file where it is from a Composition that is named itself. kustomize runs what stands in
// a list before what the list names.
func (s *sheet) entry(p *part, text string) string {
	if s.from.Dir == "" {
		return text
	}
	name := s.plan.OwnFile("yaml", s.from.Display)
	s.plan.origins[name] = s.from.Dir
	s.plan.configs[filepath.Join(p.root, name)] = []string{text}
	return name
}

// transform adds the text of a config to the transformers, or to the validators.
func (s *sheet) transform(role fnconfig.Role, text string) {
	p := s.last()
	text = s.entry(p, text)
	if role == fnconfig.Validator {
		p.then[1] = append(p.then[1], text)
	} else {
		p.then[0] = append(p.then[0], text)
	}
	p.full = true
}

// function plans a Step, and gives the text of a config for its run: none where it joins
// the run that is open.
func (s *sheet) function(step fnconfig.Step) string {
	p := s.plan
	if s.open != nil && step.Role != fnconfig.Generator && !p.metadata {
		p.runs.step(s.open, step)
		return ""
	}
	s.open = &Run{}
	p.runs.step(s.open, step)
	return p.runs.add(s.open)
}

// roots lists where kustomize finds the parts.
func (s *sheet) roots() []string {
	var roots []string
	for _, p := range s.parts {
		roots = append(roots, p.root)
	}
	return roots
}

// write serves the parts that are the sheet's own.
func (s *sheet) write() error {
	for _, p := range s.parts {
		if p.sealed { // it is written where it stands
			continue
		}
		if err := p.write(s.plan); err != nil {
			return err
		}
	}
	return nil
}

func (pt *part) write(p *plan) error {
	fields := maps.Clone(pt.fields)
	for field, more := range map[string][]string{
		"resources": pt.resources, "generators": pt.generators, "transformers": pt.then[0], "validators": pt.then[1],
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
	p.overlay.Files[filepath.Join(pt.root, pt.name)] = fnconfig.ASCII(data)
	return nil
}

func quoted(s string) json.RawMessage { return json.RawMessage(fmt.Sprintf("%q", s)) }

// virtualRoot is a directory that exists only for kustomize. It lies apart from all that is
// the user's: kustomize takes a directory above or below another one for a cycle.
func (p *plan) virtualRoot(of source.Place) string {
	root := filepath.VolumeName(of.Dir) + string(filepath.Separator) + fmt.Sprintf("%s%d", source.OwnPrefix, len(p.overlay.Dirs))
	p.overlay.Dirs[root] = true
	p.virtual[root] = of
	return root
}

// wrap makes a kustomization of Components, and of what comes before them.
func (p *plan) wrap(of source.Place, first []string, components []string, more map[string]json.RawMessage) (string, error) {
	root := p.virtualRoot(of)
	w := &part{root: root, name: source.KustomizationNames()[0], fields: map[string]json.RawMessage{
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
			w.fields[field] = raw
		}
	}
	for field, raw := range more {
		w.fields[field] = raw
	}
	return root, w.write(p)
}

// builtin prints a config of kustomize's own for one line of a list, and serves the files
// that it names where kustomize will look for them.
func (p *plan) builtin(t *composition.Transformer, c fnconfig.Config, root string) (string, error) {
	p.builtins[builtinAt{root, c.ID.Kind, c.Name}] = t.Position()
	if err := p.linkPaths(c, root); err != nil {
		return "", err
	}
	v, err := c.WithDefaults(t.At.Dir)
	if err != nil {
		return "", err
	}
	return c.Print(v)
}

// linkPaths serves the files that a config names.
func (p *plan) linkPaths(c fnconfig.Config, root string) error {
	for _, n := range fnconfig.PathsIn(c) {
		name := n.Value
		if _, file := fnconfig.SplitFileSource(name); p.Refs[file].Written != "" {
			name = file
		}
		if _, ok := p.Refs[name]; !ok {
			continue
		}
		if err := p.link(name, root); err != nil {
			return err
		}
	}
	return nil
}
