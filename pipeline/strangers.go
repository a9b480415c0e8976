package pipeline

import (
	"fmt"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkSpellings warns of what stands below the fields of a kustomization and means nothing to
// kustomize, which does not say so.
func (l *layer) checkSpellings(p *plan) {
	if _, schema := l.doc.field("openapi"); schema != nil && schema.Kind == yaml.MappingNode {
		p.warnOf(l.doc.unknownFields(schema, "openapi", []string{"path", "version"}))
	}
	if _, data := l.doc.field("buildMetadata"); data != nil {
		for _, n := range data.Content {
			if !slices.Contains(types.BuildMetadataOptions, n.Value) {
				p.warn(l.doc.where(n), fmt.Sprintf("kustomize passes over what stands here: unknown word %q of buildMetadata%s", n.Value, didYouMean(n.Value, types.BuildMetadataOptions)))
			}
		}
	}
	for _, r := range l.kust.Replacements {
		if r.Path != "" {
			p.checkReplacements(p.refIn(l, r.Path))
		}
	}
}

// checkReplacements does so for a file of replacements. One that cannot be read kustomize speaks of.
func (p *plan) checkReplacements(f fileRef) {
	real, err := p.confine(f)
	if err != nil {
		return
	}
	data, err := readConfigFile(p.fsys, real, f.place().display)
	if err != nil {
		return
	}
	docs, err := parseDocuments(f.place().display, data)
	if err != nil || len(docs) != 1 {
		return
	}
	t := reflect.TypeFor[types.Replacement]()
	if docs[0].node.Kind == yaml.SequenceNode {
		t = reflect.SliceOf(t)
	}
	p.warnOfStrangers(docs[0], t)
}
