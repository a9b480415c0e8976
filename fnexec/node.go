package fnexec

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Spec reads a runtime's spec, strictly.
type Spec = yamldoc.Spec

// SpecError is something wrong in a runtime's spec, at a place.
type SpecError = yamldoc.Error

// NewSpec begins to read a spec. path is what errors call it: "exec".
func NewSpec(n *yaml.RNode, path string) Spec { return yamldoc.NewSpec(n, path) }

// quoted makes a string node that no reader takes for a number.
func quoted(s string) *yaml.Node {
	n := yamldoc.Text(s)
	n.Style = yaml.SingleQuotedStyle
	return n
}
