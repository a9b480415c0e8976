package rewrite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// listWriter writes the list that kustomize sees.
type listWriter struct {
	plan  *plan
	layer *layer
	sheet *sheet
	role  fnconfig.Role
}

// write writes the configs of some sources, each as one line of JSON. kustomize never sees
// the user's own text: it splits documents, merges keys and tells a path from a config by
// rules that are not quite ours, and what it takes for a path it may fetch. A file is
// replaced by a virtual one at the same place of the list.
func (w *listWriter) write(ctx context.Context, sources []listSource) error {
	for _, s := range sources {
		var docs []string
		for _, c := range s.configs {
			var text string
			var err error
			switch {
			case c.composition != nil:
				w.flush(s, docs)
				docs = nil
				text, err = w.inList(ctx, s, c)
			case c.Builtin:
				w.close()
				if w.part().lists(c.Config, false) {
					w.flush(s, docs)
					docs = nil
					w.sheet.cut().lists(c.Config, false)
				}
				text, err = w.builtin(c)
			default:
				text, err = w.function(s, c)
			}
			if err != nil {
				return err
			}
			if text != "" {
				docs = append(docs, text)
			}
		}
		w.flush(s, docs)
	}
	w.close() // a run never crosses from inline entries to paths
	return nil
}

// flush adds configs to the list: as they are, or in a file in the place of the user's.
func (w *listWriter) flush(s listSource, docs []string) {
	switch {
	case len(docs) == 0:
	case s.path == "":
		w.add(docs...)
	default:
		w.add(w.addVirtual(docs, s))
	}
}

// part is where the list goes on.
func (w *listWriter) part() *part {
	if w.role == fnconfig.Generator {
		return w.sheet.early()
	}
	return w.sheet.last()
}

func (w *listWriter) add(texts ...string) {
	for _, text := range texts {
		if w.role == fnconfig.Generator {
			w.sheet.generate(w.part(), text)
		} else {
			w.sheet.transform(w.role, text)
		}
	}
}

// builtin prints the config of a builtin. Where the list goes on in another directory than
// the user's, the files that the config names come along.
func (w *listWriter) builtin(c listed) (string, error) {
	var err error
	switch root := w.part().root; {
	case w.layer.inline:
		err = w.plan.linkPaths(c.Config, root)
	case root == w.layer.root:
	case c.ID.Kind == fnconfig.HelmGenerator: // helm reads the disk by itself, where there is no such directory
		err = c.Errorf(c.Document.Node, "%s: list it before the Composition that holds builtins", fnconfig.HelmGenerator)
	default:
		c.Config = c.Copied()
		err = errors.Join(w.plan.TakePaths(c.Config, c.root), w.plan.linkPaths(c.Config, root))
	}
	if err != nil {
		return "", err
	}
	v, err := c.Value()
	if err != nil {
		return "", err
	}
	c.NameOfDir(v, w.layer.Dir)
	return c.Print(v)
}

// function plans a function. It joins the run that is open, where there is one: kustomize
// then sees one config for all of them, and nothing is returned for this one.
func (w *listWriter) function(s listSource, c listed) (string, error) {
	step, err := c.Step(w.role, c.root, w.layer.catalogs)
	if err != nil {
		return "", err
	}
	file := w.layer.file().Dir
	if s.path != "" {
		file = w.layer.Join(s.path).Dir
	}
	if err := w.plan.writeOrigin(step.Config, file); err != nil {
		return "", c.Errorf(c.Document.Node, "%v", err)
	}
	if err := step.Config.PipeE(yaml.SetAnnotation(fnconfig.LocalConfigKey, "true")); err != nil {
		return "", c.Errorf(c.Document.Node, "its metadata cannot be read: %v", err)
	}
	return w.sheet.function(step), nil
}

// close ends the run that is open.
func (w *listWriter) close() { w.sheet.open = nil }

// addVirtual serves configs in the place of a file of the user's. Nothing of the user's own
// gets into its name: kustomize reads an entry as a config before it takes it for a path.
func (w *listWriter) addVirtual(docs []string, s listSource) string {
	name := w.plan.OwnFile("yaml", s.path)
	w.plan.origins[name] = w.layer.Join(s.path).Dir
	w.plan.configs[filepath.Join(w.part().root, name)] = docs
	return name
}

// inList makes what a list holds for a Composition in one of the three lists of a
// kustomization (KEP-2299, "Integration with Kustomization"). text is a config that is still
// to be added.
func (w *listWriter) inList(ctx context.Context, s listSource, c listed) (text string, err error) {
	line, p := c.composition, w.plan
	switch {
	case w.role == fnconfig.Transformer:
		if s.path != "" {
			w.sheet.from = line.Of.File()
			defer func() { w.sheet.from = source.Place{} }()
		}
		return "", p.emit(ctx, line, w.sheet)
	case line.FunctionsOnly():
		return w.pipeline(line)
	case w.role == fnconfig.Validator:
		t := line.List[slices.IndexFunc(line.List, func(t *composition.Transformer) bool { return t.Builtin || t.IsKustomization() })]
		return "", c.Errorf(c.Document.Node, "the %s at %s would change the resources, and a validator must not: in validators, a Composition holds functions",
			t.ID.Kind, t.Position())
	}
	root, err := p.rootOf(ctx, line)
	if err != nil {
		return "", err
	}
	next, err := w.afterGenerators()
	if err != nil {
		return "", err
	}
	return "", next.take([]string{root})
}

// pipeline plans functions that generate, or validate, as one, and gives the config for it.
func (w *listWriter) pipeline(line *composition.Resolved) (text string, err error) {
	p := w.plan
	r := &Run{As: w.role}
	for i, t := range line.List {
		step, err := t.Step(line.Catalogs)
		if err != nil {
			return "", err
		}
		if i == len(line.List)-1 && w.role == fnconfig.Validator {
			step.Role = fnconfig.Validator // it need not return anything
		}
		step.In = w.role
		p.runs.step(r, step)
	}
	if len(r.Steps) == 0 {
		return "", nil
	}
	w.close()
	return p.runs.add(r), nil
}
