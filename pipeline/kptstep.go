package pipeline

import (
	"errors"
	"fmt"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/kptfile"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// plan adds the Steps of a package.
func (p *KptPackage) plan(one *kptPackage) error {
	var errs []error
	for _, list := range []struct {
		role      Role
		functions []kptfile.Function
	}{{Transformer, one.says.Mutators}, {Validator, one.says.Validators}} {
		for _, f := range list.functions {
			s, err := p.step(one, f, list.role)
			errs = append(errs, err)
			p.steps, p.of = append(p.steps, s), append(p.of, f)
		}
	}
	return errors.Join(errs...)
}

// step returns the Step of a function. Its paths are relative to the package that lists it.
func (p *KptPackage) step(one *kptPackage, f kptfile.Function, role Role) (Step, error) {
	where := fmt.Sprintf("%s:%d", one.file, f.Line)
	s := Step{
		Where: where, Dir: p.options.Dir, Work: p.options.Dir, Role: role, InFiles: true,
		Only: Selection{Dir: one.dir, Relative: true, Selection: f.Only},
		ID:   catalog.IDOf(kptfile.V1, "Function"), Name: f.Title(),
	}
	err := p.runtime(&s, f)
	var config error
	s.Config, config = one.config(f)
	if f.ConfigPath != "" {
		s.Latest = &Latest{File: path.Join(one.dir, f.ConfigPath)}
	}
	if s.Config != nil {
		name := resource.NameOf(s.Config)
		s.ID = catalog.IDOf(name.APIVersion, name.Kind)
	}
	if f.Image != "" { // a trusted catalog may have a function that replaces it
		s.Inline.Instead = &catalog.Query{Config: s.ID, Image: f.FullImage(p.options.ImagePrefix)}
	}
	return s, errors.Join(err, config)
}

// runtime sets what a Kptfile names: an image, or a program.
func (p *KptPackage) runtime(s *Step, f kptfile.Function) error {
	kind, source := "exec", "exec"
	spec := map[string]any{}
	if f.Image != "" {
		kind, source = "container", "image"
		spec["image"] = f.FullImage(p.options.ImagePrefix)
		if p.options.Network {
			spec["network"] = true
		}
		if f.Name == "" {
			s.Name = short(f.Image)
		}
	} else {
		spec["path"] = f.Words[0]
		if len(f.Words) > 1 {
			spec["args"] = f.Words[1:]
		}
	}
	var n yaml.Node
	if err := n.Encode(spec); err != nil {
		return fmt.Errorf("%s: %w", s.Where, err)
	}
	s.Inline = &Inline{
		Runtime: catalog.Runtime{Kind: kind, Spec: yaml.NewRNode(&n)},
		Source:  source + " of the " + kptfile.Kind, Where: s.Where, Command: f.Command,
	}
	if f.Tag != nil && !f.Tag.Exact() {
		return &yamldoc.Error{File: s.Where, Msg: fmt.Sprintf(
			"the tag %q of %s is a constraint on versions, and the tags of a registry are not listed yet: write one version", f.Tag.Text, f.Image)}
	}
	return nil
}

// config returns the functionConfig, nil for none.
func (p *kptPackage) config(f kptfile.Function) (*yaml.RNode, error) {
	if f.ConfigPath == "" {
		return configMap(f.ConfigMap), nil
	}
	found := p.at(f.ConfigPath)
	wrong := yamldoc.Error{File: p.file, Line: f.ConfigLine, Field: "configPath"}
	switch {
	case len(found) == 0:
		wrong.Kind = failure.NotFound
		wrong.Msg = fmt.Sprintf("%s is no file of the package with a resource: a functionConfig has apiVersion and kind, and is neither ignored nor of a package below", f.ConfigPath)
		return nil, &wrong
	case len(found) > 1:
		wrong.Msg = fmt.Sprintf("%s has %d resources, and a functionConfig is one", f.ConfigPath, len(found))
		return nil, &wrong
	}
	return plainConfig(found[0]), nil
}

// plainConfig returns a copy of a resource without the annotations of its place.
func plainConfig(n *yaml.RNode) *yaml.RNode {
	c := n.Copy()
	annotation.Strip(c.YNode())
	return c
}

// configMap returns the functionConfig of a configMap, as kpt writes it; nil for none.
func configMap(pairs []kptfile.Pair) *yaml.RNode {
	if len(pairs) == 0 {
		return nil
	}
	c := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\ndata: {}\n")
	data := yamldoc.Field(c.YNode(), "data")
	data.Style = 0
	for _, pair := range pairs {
		data.Content = append(data.Content, yamldoc.Text(pair.Key), yamldoc.Text(pair.Value))
	}
	return c
}
