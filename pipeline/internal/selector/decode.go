package selector

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The names of the two lists in a Kptfile, and in the field runtime of a Composition's transformer.
const (
	SelectorsField = "selectors"
	ExcludeField   = "exclude"
)

// most is the maximum number of selectors in a list: every resource is compared with each.
const most = 1000

// Decode reads the two lists, from fields of a mapping that has others too. Errors are recorded in
// the Problems of the value. It refuses a field without a value, which would match more than was
// meant.
func Decode(v yamldoc.Value) Selection {
	return Selection{Selectors: list(v.Get(SelectorsField)), Exclude: list(v.Get(ExcludeField))}
}

func list(v yamldoc.Value) []Selector {
	entries := v.Each()
	if len(entries) > most {
		v.Fail("%d selectors, the limit is %d", len(entries), most)
		return nil
	}
	var out []Selector
	for _, e := range entries {
		out = append(out, one(e))
	}
	return out
}

func one(v yamldoc.Value) Selector {
	if !v.Present() {
		v.Fail("a selector is a mapping, {} matches everything")
	}
	v.Exactly("apiVersion", "kind", "name", "namespace", "labels", "annotations")
	return Selector{
		APIVersion: text(v.Get("apiVersion")), Kind: text(v.Get("kind")),
		Name: text(v.Get("name")), Namespace: text(v.Get("namespace")),
		Labels: pairs(v.Get("labels")), Annotations: pairs(v.Get("annotations")),
	}
}

// pairs reads a mapping of texts. A value of another type has to be quoted, as in metadata.
func pairs(v yamldoc.Value) map[string]string {
	if !v.Map() {
		return nil
	}
	out := map[string]string{}
	for key, value := range v.Fields() {
		if !value.Present() {
			value.Fail("it has no value")
		}
		out[key.Value] = text(value)
	}
	return out
}

// text reads a string. The text << is one as a value, although it has a tag of its own.
func text(v yamldoc.Value) string {
	if v.IsText() && v.Node().ShortTag() == yaml.MergeTag {
		return v.Node().Value
	}
	return v.TextOnly()
}

// Value returns a selection as it is written, with the lists that are not empty; nil for that of
// every resource.
func (s Selection) Value() map[string]any {
	v := map[string]any{}
	for field, list := range map[string][]Selector{SelectorsField: s.Selectors, ExcludeField: s.Exclude} {
		var entries []any
		for _, one := range list {
			entries = append(entries, one.value())
		}
		if len(entries) > 0 {
			v[field] = entries
		}
	}
	if len(v) == 0 {
		return nil
	}
	return v
}

func (s Selector) value() map[string]any {
	v := map[string]any{}
	for field, text := range map[string]string{"apiVersion": s.APIVersion, "kind": s.Kind, "name": s.Name, "namespace": s.Namespace} {
		if text != "" {
			v[field] = text
		}
	}
	for field, pairs := range map[string]map[string]string{"labels": s.Labels, "annotations": s.Annotations} {
		if len(pairs) > 0 {
			v[field] = pairs
		}
	}
	return v
}
