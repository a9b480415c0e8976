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

// The annotations that kustomize writes if buildMetadata lists them.
const (
	originKey          = "config.kubernetes.io/origin"
	transformationsKey = "alpha.config.kubernetes.io/transformations"
)

// writeOrigin records the file of a function's config in an annotation of the config, as kustomize
// does.
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
	annotations := yamldoc.Field(yamldoc.Field(config.YNode(), "metadata"), "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return config.PipeE(yaml.SetAnnotation(originKey, text))
	}
	at := 0 // kustomize sorts annotations
	for at < len(annotations.Content) && annotations.Content[at].Value < originKey {
		at += 2
	}
	annotations.Content = slices.Insert(annotations.Content, at, yaml.NewStringRNode(originKey).YNode(), yaml.NewStringRNode(text).YNode())
	return nil
}

// replaceAnnotation changes the value of an annotation that exists. It changes nothing else in the
// resource.
func replaceAnnotation(n *yaml.RNode, key, text string) {
	annotations := yamldoc.Field(yamldoc.Field(n.YNode(), "metadata"), "annotations")
	if v := yamldoc.Field(annotations, key); v != nil {
		*v = *yaml.NewStringRNode(text).YNode()
	}
}

// Recorded maps the annotations that functions see to those that kustomize recorded. kustomize
// reads its own annotations again after the functions have run.
type Recorded map[[2]string]string

// Show replaces virtual names by the user's configs and files in the annotations that kustomize
// recorded.
func (c *Compiled) Show(items []*yaml.RNode) (Recorded, error) {
	p := c.plan
	if !p.metadata {
		return nil, nil //nolint:nilnil // nil means that nothing was recorded
	}
	recorded := Recorded{}
	for _, n := range items {
		before := n.GetAnnotations()
		if err := p.restoreOrigins(n); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.IDOf(n), err)
		}
		now := n.GetAnnotations()
		for _, key := range []string{originKey, transformationsKey} {
			if now[key] != before[key] {
				recorded[[2]string{key, now[key]}] = before[key]
			}
		}
	}
	return recorded, nil
}

// Hide undoes Show. An annotation that a function wrote itself stays as it is.
func (r Recorded) Hide(items []*yaml.RNode) {
	for _, n := range items {
		annotations := n.GetAnnotations()
		for _, key := range []string{originKey, transformationsKey} {
			if text, ok := r[[2]string{key, annotations[key]}]; ok {
				replaceAnnotation(n, key, text)
			}
		}
	}
}

// Misrecorded returns what is wrong with the annotations of buildMetadata on a resource that a
// function returned, "" if they are valid. kustomize reads them again, and its error would not name
// the function.
func (c *Compiled) Misrecorded(n *yaml.RNode) string {
	if !c.plan.metadata {
		return ""
	}
	annotations := n.GetAnnotations(originKey, transformationsKey)
	for _, a := range []struct {
		key  string
		into any
	}{{originKey, &kresource.Origin{}}, {transformationsKey, &kresource.Transformations{}}} {
		if err := k8syaml.Unmarshal([]byte(annotations[a.key]), a.into); err != nil {
			return fmt.Sprintf("metadata.annotations: %s is kustomize's own, and cannot be read: %v", a.key, err)
		}
	}
	return ""
}

// checkTransformations refuses a resource of the user with an annotation of transformations that
// kustomize cannot read. The annotation of the origin needs no check: kustomize overwrites it.
func checkTransformations(d source.Document) error {
	text := yaml.NewRNode(d.Node).GetAnnotations(transformationsKey)[transformationsKey]
	var wrong *source.SyntaxError
	if _, err := source.ParseDocuments(d.File, []byte(text)); errors.As(err, &wrong) {
		return &source.SyntaxError{Where: d.Where(d.Node), Msg: "metadata.annotations: " + transformationsKey + ": " + wrong.Msg, Kind: wrong.Kind}
	}
	return nil
}

// restoreOrigins replaces the Steps and virtual files that kustomize saw by the user's configs and
// files, in the annotations of buildMetadata.
func (p *plan) restoreOrigins(n *yaml.RNode) error {
	annotations := n.GetAnnotations()
	var o kresource.Origin
	var ts kresource.Transformations
	for _, a := range []struct {
		key     string
		into    any
		restore func() bool
		print   func() (string, error)
	}{
		{originKey, &o, func() bool { return p.restore(&o) }, o.String},
		{transformationsKey, &ts, func() bool {
			changed := false
			for _, one := range ts {
				changed = one != nil && p.restore(one) || changed
			}
			return changed
		}, ts.String},
	} {
		text, ok := annotations[a.key]
		if !ok {
			continue
		}
		if err := yaml.Unmarshal([]byte(text), a.into); err != nil {
			return fmt.Errorf("reading the annotation %s: %w", a.key, err)
		}
		if !a.restore() {
			continue
		}
		text, err := a.print()
		if err != nil {
			return fmt.Errorf("writing the annotation %s: %w", a.key, err)
		}
		replaceAnnotation(n, a.key, text)
	}
	return nil
}

// restore replaces the names of Steps and virtual files in an origin. It reports whether it changed
// anything.
func (p *plan) restore(o *kresource.Origin) bool {
	changed := false
	if n, ok := bridge.RunOf(o.ConfiguredBy); ok {
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

// restorePath returns the user's file for a path that kustomize recorded, relative to the target.
// kustomize's paths are relative to the kustomization that it builds.
func (p *plan) restorePath(path string) string {
	if path == "" {
		return ""
	}
	built := p.root.roots[0]
	at, name := filepath.Join(built, path), filepath.Base(path)
	switch of, virtual := p.virtual[filepath.Dir(at)]; {
	case p.origins[name] != "":
		at = p.origins[name]
	case virtual && p.Refs[name].Written != "":
		at = p.Refs[name].Place().Dir
	case virtual && !p.overlay.Has(at): // a function copied a path that Show restored
		return path
	case virtual:
		at = of.Dir
	}
	rel, err := filepath.Rel(p.root.Dir, at)
	if err != nil {
		return path
	}
	return rel
}

// peekOrigin returns the path in the origin of a config, "" for none. Without buildMetadata, it
// ignores the annotation: kustomize did not write it.
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

// takeOrigin removes the origin from a config, and returns its path.
func (p *plan) takeOrigin(config *yaml.Node) (string, error) {
	path, err := p.peekOrigin(config)
	if err != nil || path == "" {
		return "", err
	}
	return path, resource.Clean(yaml.NewRNode(config), func(key string) bool { return key == originKey })
}
