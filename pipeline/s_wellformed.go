package pipeline

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// wellFormed refuses metadata of a shape that readers of resources trip over.
func (d document) wellFormed() error {
	_, meta := d.field("metadata")
	if meta == nil || isNull(meta) {
		return nil
	}
	if meta.Kind != yaml.MappingNode {
		return d.errorf(meta, "metadata is a mapping, this is %s", describe(meta))
	}
	for _, name := range []string{"name", "namespace"} {
		if _, v := lookup(meta, name); v != nil && v.Kind != yaml.ScalarNode {
			return d.errorf(v, "metadata.%s is a name, this is %s", name, describe(v))
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		_, m := lookup(meta, name)
		if m == nil || isNull(m) {
			continue
		}
		if m.Kind != yaml.MappingNode {
			return d.errorf(m, "metadata.%s is a mapping, this is %s", name, describe(m))
		}
		for i := 1; i < len(m.Content); i += 2 {
			if m.Content[i].Kind != yaml.ScalarNode {
				return d.errorf(m.Content[i], "metadata.%s.%s is text, this is %s", name, m.Content[i-1].Value, describe(m.Content[i]))
			}
		}
	}
	return nil
}
