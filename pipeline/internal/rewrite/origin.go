package rewrite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"

	kresource "sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// The annotations that buildMetadata asks kustomize for.
const (
	originKey          = "config.kubernetes.io/origin"
	transformationsKey = "alpha.config.kubernetes.io/transformations"
)

// writeOrigin adds the file of a function's config to the config, as kustomize does.
func (p *plan) writeOrigin(config *yaml.RNode, file string) error {
	if !p.metadata {
		return nil
	}
	path, err := filepath.Rel(p.Places[0].Dir, file)
	if err != nil {
		return fmt.Errorf("writing the annotation %s: %w", originKey, err)
	}
	text, err := (&kresource.Origin{Path: path}).String()
	if err != nil {
		return fmt.Errorf("writing the annotation %s: %w", originKey, err)
	}
	notes := yamldoc.Field(yamldoc.Field(config.YNode(), "metadata"), "annotations")
	if notes == nil || notes.Kind != yaml.MappingNode {
		return config.PipeE(yaml.SetAnnotation(originKey, text))
	}
	at := 0 // kustomize sorts annotations
	for at < len(notes.Content) && notes.Content[at].Value < originKey {
		at += 2
	}
	notes.Content = slices.Insert(notes.Content, at, yaml.NewStringRNode(originKey).YNode(), yaml.NewStringRNode(text).YNode())
	return nil
}

// setNote changes an annotation that exists, and nothing around it.
func setNote(n *yaml.RNode, key, text string) {
	notes := yamldoc.Field(yamldoc.Field(n.YNode(), "metadata"), "annotations")
	if v := yamldoc.Field(notes, key); v != nil {
		*v = *yaml.NewStringRNode(text).YNode()
	}
}

// Recorded is the annotations that kustomize recorded, by the values that functions are shown
// in their place: kustomize reads its own again after the functions ran.
type Recorded map[[2]string]string

// Show puts the user's configs and files into what kustomize recorded of some resources.
func (c *Compiled) Show(items []*yaml.RNode) (Recorded, error) {
	p := c.plan
	if !p.metadata {
		return nil, nil //nolint:nilnil // nothing was recorded, and nil is that
	}
	was := Recorded{}
	for _, n := range items {
		before := n.GetAnnotations()
		if err := p.restoreOrigins(n); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.IDOf(n), err)
		}
		now := n.GetAnnotations()
		for _, key := range []string{originKey, transformationsKey} {
			if now[key] != before[key] {
				was[[2]string{key, now[key]}] = before[key]
			}
		}
	}
	return was, nil
}

// Hide undoes Show. What a function wrote itself stays as it is.
func (was Recorded) Hide(items []*yaml.RNode) {
	for _, n := range items {
		notes := n.GetAnnotations()
		for _, key := range []string{originKey, transformationsKey} {
			if text, ok := was[[2]string{key, notes[key]}]; ok {
				setNote(n, key, text)
			}
		}
	}
}

// Misrecorded says what is wrong with the annotations of buildMetadata on a resource that a function
// returned, "" for nothing. kustomize reads them again, and would not name the function.
func (c *Compiled) Misrecorded(n *yaml.RNode) string {
	if !c.plan.metadata {
		return ""
	}
	notes := n.GetAnnotations(originKey, transformationsKey)
	for _, note := range []struct {
		key  string
		into any
	}{{originKey, &kresource.Origin{}}, {transformationsKey, &kresource.Transformations{}}} {
		if err := k8syaml.Unmarshal([]byte(notes[note.key]), note.into); err != nil {
			return fmt.Sprintf("metadata.annotations: %s is kustomize's own, and cannot be read: %v", note.key, err)
		}
	}
	return ""
}

// misrecorded refuses a resource of the user's with transformations that kustomize cannot read. It
// replaces the origin.
func misrecorded(d source.Document) error {
	text := yaml.NewRNode(d.Node).GetAnnotations(transformationsKey)[transformationsKey]
	var wrong *source.SyntaxError
	if _, err := source.ParseDocuments(d.File, []byte(text)); errors.As(err, &wrong) {
		return &source.SyntaxError{Where: d.Where(d.Node), Msg: "metadata.annotations: " + transformationsKey + ": " + wrong.Msg, Kind: wrong.Kind}
	}
	return nil
}

// restoreOrigins puts the user's configs and files into what buildMetadata recorded, in place
// of the Steps and virtual files that kustomize saw.
func (p *plan) restoreOrigins(n *yaml.RNode) error {
	notes := n.GetAnnotations()
	var o kresource.Origin
	var ts kresource.Transformations
	for _, note := range []struct {
		key     string
		into    any
		restore func() bool
		print   func() (string, error)
	}{
		{originKey, &o, func() bool { return p.restore(&o) }, o.String},
		{transformationsKey, &ts, func() bool {
			any := false
			for _, one := range ts {
				any = one != nil && p.restore(one) || any
			}
			return any
		}, ts.String},
	} {
		text, ok := notes[note.key]
		if !ok {
			continue
		}
		if err := yaml.Unmarshal([]byte(text), note.into); err != nil {
			return fmt.Errorf("reading the annotation %s: %w", note.key, err)
		}
		if !note.restore() {
			continue
		}
		text, err := note.print()
		if err != nil {
			return fmt.Errorf("writing the annotation %s: %w", note.key, err)
		}
		setNote(n, note.key, text)
	}
	return nil
}

// restore replaces the names of Steps and virtual files, and reports whether there were any.
func (p *plan) restore(o *kresource.Origin) bool {
	changed := false
	if n, ours := bridge.RunOf(o.ConfiguredBy); ours {
		if r := p.runs.at(n); r != nil {
			s := p.steps[r.Steps[0]]
			o.ConfiguredBy = yaml.ResourceIdentifier{
				TypeMeta: yaml.TypeMeta{APIVersion: s.ID.APIVersion(), Kind: s.ID.Kind},
				NameMeta: yaml.NameMeta{Name: s.Config.GetName(), Namespace: s.Config.GetNamespace()},
			}
			changed = true
		}
	}
	for _, path := range []*string{&o.ConfiguredIn, &o.Path} {
		if restored := p.restorePath(*path); restored != *path {
			*path, changed = restored, true
		}
	}
	return changed
}

// restorePath finds the file of the user's that a path stands for. Paths are relative to the
// kustomization that is built.
func (p *plan) restorePath(path string) string {
	if path == "" {
		return ""
	}
	built := p.root.roots[0]
	at, name := filepath.Join(built, path), filepath.Base(path)
	switch of, ours := p.virtual[filepath.Dir(at)]; {
	case p.origins[name] != "":
		at = p.origins[name]
	case ours && p.Refs[name].Written != "":
		at = p.Refs[name].Place().Dir
	case ours && !p.overlay.Has(at): // a function copied what it was shown
		return path
	case ours:
		at = of.Dir
	}
	rel, err := filepath.Rel(p.root.Dir, at)
	if err != nil {
		return path
	}
	return rel
}

// peekOrigin gives the path in the origin of a config, "" for none. Without buildMetadata, it
// was not kustomize that wrote it.
func (p *plan) peekOrigin(config *yaml.Node) (string, error) {
	if !p.metadata {
		return "", nil
	}
	text, ok := yaml.NewRNode(config).GetAnnotations()[originKey]
	if !ok {
		return "", nil
	}
	var o kresource.Origin
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		return "", fmt.Errorf("reading the annotation %s: %w", originKey, err)
	}
	return o.Path, nil
}

// takeOrigin removes the origin from a config, and gives the path it names.
func (p *plan) takeOrigin(config *yaml.Node) (string, error) {
	path, err := p.peekOrigin(config)
	if err != nil || path == "" {
		return "", err
	}
	return path, resource.Clean(yaml.NewRNode(config), func(key string) bool { return key == originKey })
}
