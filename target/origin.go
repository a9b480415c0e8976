package target

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The annotations that buildMetadata asks kustomize for.
const (
	originKey          = "config.kubernetes.io/origin"
	transformationsKey = "alpha.config.kubernetes.io/transformations"
)

// restoreOrigins puts the user's configs and files into what buildMetadata recorded, in
// place of the Steps and virtual files that kustomize saw.
func (p *plan) restoreOrigins(n *yaml.RNode) error {
	notes := n.GetAnnotations()
	changed := false
	if text, ok := notes[originKey]; ok {
		var o resource.Origin
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			return fmt.Errorf("reading the annotation %s: %w", originKey, err)
		}
		if p.restore(&o) {
			text, err := o.String()
			if err != nil {
				return fmt.Errorf("writing the annotation %s: %w", originKey, err)
			}
			notes[originKey], changed = text, true
		}
	}
	if text, ok := notes[transformationsKey]; ok {
		var ts resource.Transformations
		if err := yaml.Unmarshal([]byte(text), &ts); err != nil {
			return fmt.Errorf("reading the annotation %s: %w", transformationsKey, err)
		}
		any := false
		for _, o := range ts {
			any = p.restore(o) || any
		}
		if any {
			text, err := ts.String()
			if err != nil {
				return fmt.Errorf("writing the annotation %s: %w", transformationsKey, err)
			}
			notes[transformationsKey], changed = text, true
		}
	}
	if !changed {
		return nil
	}
	return n.SetAnnotations(notes)
}

// restore replaces what names a Step or a virtual file, and tells whether it did.
func (p *plan) restore(o *resource.Origin) bool {
	changed := false
	if o.ConfiguredBy.APIVersion == stepAPIVersion && o.ConfiguredBy.Kind == stepKind {
		var n int
		_, err := fmt.Sscanf(o.ConfiguredBy.Name, stepNames, &n)
		if r, ok := p.runAt(n); ok && err == nil {
			s := p.steps[r.steps[0]]
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

// restorePath finds the file of the user's that a path stands for, from the kustomization
// that is built.
func (p *plan) restorePath(path string) string {
	if path == "" {
		return ""
	}
	built := p.root.roots[0]
	at, name := filepath.Join(built, path), filepath.Base(path)
	switch of, ours := p.virtual[filepath.Dir(at)]; {
	case p.origins[name] != "":
		at = p.origins[name]
	case ours && p.refs[name].written != "":
		at = p.refs[name].place().dir
	case ours:
		at = of.dir
	}
	rel, err := filepath.Rel(p.root.dir, at)
	if err != nil {
		return path
	}
	return rel
}

// peekOrigin gives the path that a config's origin names, "" for none. Without
// buildMetadata, it is not kustomize who wrote it.
func (p *plan) peekOrigin(config *yaml.Node) (string, error) {
	if !p.metadata {
		return "", nil
	}
	text, ok := yaml.NewRNode(config).GetAnnotations()[originKey]
	if !ok {
		return "", nil
	}
	var o resource.Origin
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
	return path, clean(yaml.NewRNode(config), func(key string) bool { return key == originKey })
}
