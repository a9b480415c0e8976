package pipeline

import (
	"errors"
	"fmt"

	"github.com/krmcat/krmcat/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// overlay is a functionConfig and what is laid over it, where the result depends on the
// function's own schema: that is known only once the function is found.
type overlay struct {
	base  *yaml.RNode
	over  []*yaml.RNode
	where []string // of over
}

// SchemaMatters tells whether the config depends on the function's own schema: an override
// has a list where the config has one, and only the schema says by which keys lists merge.
func (s Step) SchemaMatters() bool { return s.overlay != nil }

// Overridden lists where the overrides of the config stand, in the order in which they apply.
func (s Step) Overridden() []string { return s.overridden }

// overriddenBy is the Step with what its config was merged of. schema tells whether the function's
// schema would make another one of it.
func (s Step) overriddenBy(l *overlay, schema bool) Step {
	s.overridden = l.where
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
	merged, _, err := s.overlay.merge(schema)
	if err != nil {
		return s, err
	}
	s.Config, err = functionConfig{document: document{file: s.Where, node: merged.YNode()}}.normal()
	return s, err
}

// merge lays every override over the base. lists tells whether the schema would matter, for
// an error too: a list that has no keys may have some with the schema.
func (l *overlay) merge(schema *yaml.RNode) (merged *yaml.RNode, lists bool, err error) {
	merged = l.base
	for i, patch := range l.over {
		next, met, err := openapi.Merge(merged, patch, schema)
		lists = lists || met
		var wrong *openapi.MergeError
		if errors.As(err, &wrong) {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: fmt.Sprintf("the override does not fit: %s: %s", wrong.Path, wrong.Msg)}
		}
		if err != nil {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: "the override does not fit", Err: err}
		}
		if next == nil {
			return nil, lists, &SyntaxError{Where: l.where[i], Msg: "the override deletes the whole: an import is taken as it is, or not at all"}
		}
		merged = next
	}
	return merged, lists, nil
}

// metadata is what overrides say of the metadata, and of nothing else.
func (l *overlay) metadata() *overlay {
	out := &overlay{base: l.base, where: l.where}
	for _, patch := range l.over {
		only := yaml.NewMapRNode(nil)
		if f := patch.Field("metadata"); f != nil {
			only.YNode().Content = []*yaml.Node{f.Key.YNode(), f.Value.YNode()}
		}
		out.over = append(out.over, only)
	}
	return out
}
