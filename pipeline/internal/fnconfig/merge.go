package fnconfig

import (
	"errors"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Overlay is a functionConfig and its overrides, where the result depends on the function's own
// schema, which is known only once the function is found.
type Overlay struct {
	Base  *yaml.RNode
	Over  []*yaml.RNode
	Where []string // of each override
}

// SchemaMatters reports whether the config depends on the function's own schema: an override
// has a list where the config has one, and only the schema has the keys by which lists merge.
func (s Step) SchemaMatters() bool { return s.overlay != nil }

// Overridden lists the positions of the overrides, in the order in which they apply.
func (s Step) Overridden() []string { return s.overridden }

// OverriddenBy is the Step with its overrides. With schema, the config has to be merged again
// when the function's schema is known.
func (s Step) OverriddenBy(l *Overlay, schema bool) Step {
	s.overridden = l.Where
	if schema {
		s.overlay = l
	}
	return s
}

// WithSchema is the Step with its config merged as the function's schema says, an
// openAPIV3Schema; nil for none, then lists are replaced. KEP-2299, "API schema".
func (s Step) WithSchema(schema *yaml.RNode) (Step, error) {
	if s.overlay == nil {
		return s, nil
	}
	merged, _, err := s.overlay.Merge(schema)
	if err != nil {
		return s, err
	}
	s.Config, err = Config{Document: source.Document{File: s.Where, Node: merged.YNode()}}.Normal()
	return s, err
}

// Merge applies the overrides to the base. lists reports whether the schema would matter, also
// with an error: a list without keys may have some by the schema.
func (l *Overlay) Merge(schema *yaml.RNode) (merged *yaml.RNode, lists bool, err error) {
	merged = l.Base
	for i, patch := range l.Over {
		next, met, err := openapi.Merge(merged, patch, schema)
		lists = lists || met
		var wrong *openapi.MergeError
		if errors.As(err, &wrong) && wrong.TooMuch {
			return nil, lists, source.Document{File: l.Where[i]}.TooMuch(nil, "the override does not fit: %v", err)
		}
		if err != nil {
			return nil, lists, &source.SyntaxError{Where: l.Where[i], Msg: "the override does not fit", Err: err}
		}
		if next == nil {
			return nil, lists, &source.SyntaxError{Where: l.Where[i], Msg: "the override deletes the whole transformer: that is not possible"}
		}
		merged = next
	}
	return merged, lists, nil
}

// Metadata is the Overlay of the metadata only.
func (l *Overlay) Metadata() *Overlay {
	out := &Overlay{Base: l.Base, Where: l.Where}
	for _, patch := range l.Over {
		only := yaml.NewMapRNode(nil)
		if f := patch.Field("metadata"); f != nil {
			only.YNode().Content = []*yaml.Node{f.Key.YNode(), f.Value.YNode()}
		}
		out.Over = append(out.Over, only)
	}
	return out
}
