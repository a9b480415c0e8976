package source

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// WellFormed refuses metadata of a shape that kustomize and kyaml cannot read.
func (d Document) WellFormed() error {
	_, meta := d.Field("metadata")
	if yamldoc.IsNull(meta) {
		return nil
	}
	if meta.Kind != yaml.MappingNode {
		return d.Errorf(meta, "metadata is a mapping, this is %s", yamldoc.Describe(meta))
	}
	for _, name := range []string{"name", "namespace"} {
		if v := yamldoc.Field(meta, name); v != nil && v.Kind != yaml.ScalarNode {
			return d.Errorf(v, "metadata.%s is a name, this is %s", name, yamldoc.Describe(v))
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		m := yamldoc.Field(meta, name)
		if yamldoc.IsNull(m) {
			continue
		}
		if m.Kind != yaml.MappingNode {
			return d.Errorf(m, "metadata.%s is a mapping, this is %s", name, yamldoc.Describe(m))
		}
		for i := 1; i < len(m.Content); i += 2 {
			if m.Content[i].Kind != yaml.ScalarNode {
				return d.Errorf(m.Content[i], "metadata.%s.%s is text, this is %s", name, m.Content[i-1].Value, yamldoc.Describe(m.Content[i]))
			}
		}
	}
	return nil
}
