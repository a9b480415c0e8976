package rewrite

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// read reads the one kustomization file of a directory.
func (p *plan) read(at source.Place) (*kustomization, error) {
	found := source.KindsIn(p.FS, at.Dir)
	switch {
	case len(found.Kustomization) > 1:
		return nil, &source.SyntaxError{Where: at.Display, Msg: "more than one kustomization file: " + strings.Join(found.Kustomization, ", ")}
	case len(found.Composition) > 0 && len(found.Kustomization) > 0:
		return nil, &source.SyntaxError{Where: at.Display, Msg: "both a kustomization and a composition file are there: a directory is one or the other (KEP-2299)"}
	case len(found.Kustomization) == 0:
		return nil, &source.SyntaxError{Where: at.Display, Kind: failure.NotFound, Msg: "this directory has none of " +
			strings.Join(append(source.KustomizationNames(), source.CompositionFile), ", ")}
	}
	name := found.Kustomization[0]
	file := at.Join(name).Display
	data, real, err := p.TargetFile(at, name)
	if err != nil {
		return nil, err
	}
	doc, err := p.FirstDocument(file, data)
	if err != nil {
		return nil, err
	}
	k := &kustomization{Place: at, root: at.Dir, name: name, real: real, doc: doc}
	if k.doc.Node.Kind != yaml.MappingNode {
		return nil, k.doc.Errorf(k.doc.Node, "a kustomization is a mapping, this is %s", yamldoc.Describe(k.doc.Node))
	}
	raw, err := source.FieldsOf(file, data)
	if err != nil {
		return nil, err
	}
	return k, p.canonical(k, raw)
}

// takeCatalogs reads `catalogs` and removes it from the fields for kustomize.
func (k *kustomization) takeCatalogs() error {
	if _, ok := k.fields[source.CatalogsField]; !ok {
		return nil
	}
	delete(k.fields, source.CatalogsField)
	_, node := k.doc.Field(source.CatalogsField)
	refs, err := fnconfig.CatalogRefs(k.doc, node, k.Dir)
	k.catalogs = refs
	return err
}

// hasElements reports whether a field is a list that is not empty.
func hasElements(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}

// decode decodes the fields in the way kustomize will, from the same JSON.
func (k *kustomization) decode() error {
	j, err := json.Marshal(k.fields)
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", k.doc.File, err)
	}
	if err := k.kust.Unmarshal(fnconfig.ASCII(j)); err != nil {
		return k.explain(err)
	}
	k.kust.FixKustomization()
	if errs := k.kust.EnforceFields(); len(errs) > 0 {
		key, _ := k.doc.Field("kind")
		if strings.HasPrefix(errs[0], "apiVersion") {
			key, _ = k.doc.Field("apiVersion")
		}
		return k.doc.Errorf(key, "%s", strings.Join(errs, "; "))
	}
	return nil
}
