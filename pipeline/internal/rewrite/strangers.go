package rewrite

import (
	"reflect"
	"slices"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkSpellings warns of what stands below the fields of a kustomization and means nothing to
// kustomize, which does not say so.
func (l *layer) checkSpellings(p *plan) {
	if _, schema := l.doc.Field("openapi"); schema != nil && schema.Kind == yaml.MappingNode {
		p.WarnOf(l.doc.UnknownFields(schema, "openapi", []string{"path", "version"}))
	}
	if _, data := l.doc.Field("buildMetadata"); data != nil {
		ps := yamldoc.Problems{File: l.doc.File}
		for _, n := range data.Content {
			if !slices.Contains(types.BuildMetadataOptions, n.Value) {
				ps.Add(n.Line, "unknown word %q of buildMetadata%s", n.Value, source.DidYouMean(n.Value, types.BuildMetadataOptions))
			}
		}
		p.WarnOf(source.SyntaxErrors(&ps))
	}
	for _, r := range l.kust.Replacements {
		if r.Path != "" {
			p.checkReplacements(p.refIn(l, r.Path))
		}
	}
}

// checkReplacements does so for a file of replacements. One that cannot be read kustomize speaks of.
func (p *plan) checkReplacements(f source.FileRef) {
	real, err := p.Confine(f)
	if err != nil {
		return
	}
	data, err := source.ReadConfigFile(p.FS, real, f.Place().Display)
	if err != nil {
		return
	}
	docs, err := source.ParseDocuments(f.Place().Display, data)
	if err != nil || len(docs) != 1 {
		return
	}
	t := reflect.TypeFor[types.Replacement]()
	if docs[0].Node.Kind == yaml.SequenceNode {
		t = reflect.SliceOf(t)
	}
	p.WarnOfStrangers(docs[0], t)
}
