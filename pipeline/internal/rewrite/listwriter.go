package rewrite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// listWriter writes the list that kustomize will see.
type listWriter struct {
	plan          *plan
	kustomization *kustomization
	components    *components
	role          fnconfig.Role
}

// write writes the configs of sources, each as one line of JSON. A virtual file replaces the user's
// file in the list. kustomize never sees the user's text, for two reasons. Its rules for splitting
// documents, merging keys and distinguishing paths from configs differ in places from those of
// krmcat. It may also fetch a text that it interprets as a path.
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
				if w.component().lists(c.Config, false) {
					w.flush(s, docs)
					docs = nil
					w.components.cut().lists(c.Config, false)
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
	w.close() // a run does not continue from inline entries to paths
	return nil
}

// flush adds configs to the list: inline, or in a virtual file that replaces the user's file.
func (w *listWriter) flush(s listSource, docs []string) {
	switch {
	case len(docs) == 0:
	case s.path == "":
		w.add(docs...)
	default:
		w.add(w.addVirtual(docs, s))
	}
}

// component returns the Component in which the list continues.
func (w *listWriter) component() *component {
	if w.role == fnconfig.Generator {
		return w.components.forGenerator()
	}
	return w.components.last()
}

// add adds the texts of configs to the list.
func (w *listWriter) add(texts ...string) {
	for _, text := range texts {
		if w.role == fnconfig.Generator {
			w.components.generate(w.component(), text)
		} else {
			w.components.transform(w.role, text)
		}
	}
}

// builtin returns the text of the config of a builtin. If the list continues in another directory
// than the user's, the files that the config names are served there.
func (w *listWriter) builtin(c listed) (string, error) {
	var err error
	switch root := w.component().root; {
	case w.kustomization.inline:
		err = w.plan.linkPaths(c.Config, root)
	case root == w.kustomization.root:
	case c.ID.Kind == fnconfig.HelmGenerator: // helm reads the disk and not the tree
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
	c.NameOfDir(v, w.kustomization.Dir)
	return c.Print(v)
}

// function plans a function and returns the text of its config. If there is an open run, the
// function is added to it: kustomize then sees one config for all its functions, and the text is
// empty.
func (w *listWriter) function(s listSource, c listed) (string, error) {
	step, err := c.Step(w.role, c.root, w.kustomization.catalogs)
	if err != nil {
		return "", err
	}
	if !step.Only.Selection.All() {
		return "", c.Errorf(c.Document.Node, "%s and %s select resources for a transformer of a Composition: kustomize gives a function all resources",
			selector.SelectorsField, selector.ExcludeField)
	}
	file := w.kustomization.file().Dir
	if s.path != "" {
		file = w.kustomization.Join(s.path).Dir
	}
	if err := w.plan.writeOrigin(step.Config, file); err != nil {
		return "", c.Errorf(c.Document.Node, "%v", err)
	}
	if err := step.Config.PipeE(yaml.SetAnnotation(fnconfig.LocalConfigKey, "true")); err != nil {
		return "", c.Errorf(c.Document.Node, "its metadata cannot be read: %v", err)
	}
	return w.components.function(step), nil
}

// close ends the open run.
func (w *listWriter) close() { w.components.open = nil }

// addVirtual serves configs in a virtual file that replaces the user's file, and returns its name.
// The name contains nothing that the user wrote: kustomize reads an entry first as a config and
// only then as a path.
func (w *listWriter) addVirtual(docs []string, s listSource) string {
	name := w.plan.OwnFile("yaml", s.path)
	w.plan.origins[name] = w.kustomization.Join(s.path).Dir
	w.plan.configs[filepath.Join(w.component().root, name)] = docs
	return name
}

// inList writes a Composition that is an entry of one of the three lists of a kustomization
// (KEP-2299, "Integration with Kustomization"). text is a config that the caller adds to the list.
func (w *listWriter) inList(ctx context.Context, s listSource, c listed) (text string, err error) {
	resolved, p := c.composition, w.plan
	switch {
	case w.role == fnconfig.Transformer:
		if s.path != "" {
			w.components.from = resolved.Of.File()
			defer func() { w.components.from = source.Place{} }()
		}
		return "", p.emit(ctx, resolved, w.components)
	case resolved.FunctionsOnly():
		return w.pipeline(resolved)
	case w.role == fnconfig.Validator:
		t := resolved.List[slices.IndexFunc(resolved.List, func(t *composition.Transformer) bool { return t.Builtin || t.IsKustomization() })]
		return "", c.Errorf(c.Document.Node, "the %s at %s would change the resources, and a validator must not: in validators, a Composition holds functions",
			t.ID.Kind, t.Position())
	}
	root, err := p.rootOf(ctx, resolved)
	if err != nil {
		return "", err
	}
	vc, err := w.afterGenerators()
	if err != nil {
		return "", err
	}
	return "", vc.take([]string{root})
}

// pipeline plans functions that generate, or validate, as one run. It returns the config for the
// run, "" if there are no functions.
func (w *listWriter) pipeline(resolved *composition.Resolved) (text string, err error) {
	p := w.plan
	r := &Run{As: w.role}
	for i, t := range resolved.List {
		step, err := t.Step(resolved.Catalogs)
		if err != nil {
			return "", err
		}
		if i == len(resolved.List)-1 && w.role == fnconfig.Validator {
			step.Role = fnconfig.Validator // the last function may return nothing
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
