package fnexec

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Spec reads a runtime's spec, strictly.
type Spec = yamldoc.Value

// SpecError reports an error in a runtime's spec, with its position.
type SpecError = yamldoc.Error

// NewSpec returns a reader of a spec. path is the spec's name in errors: "exec".
func NewSpec(n *yaml.RNode, path string) Spec { return yamldoc.NewValue(n, path) }

// quoted returns a string node in quotes, so that no reader takes it for a number.
func quoted(s string) *yaml.Node {
	n := yamldoc.Text(s)
	n.Style = yaml.SingleQuotedStyle
	return n
}
