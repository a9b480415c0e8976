package fnconfig

import (
	"errors"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
)

// TestMergeTooMuch merges an override into a config of more values than are merged.
func TestMergeTooMuch(t *testing.T) {
	t.Parallel()
	one := yaml.NewStringRNode("x").YNode()
	wide := &yaml.Node{Kind: yaml.SequenceNode, Content: slices.Repeat([]*yaml.Node{one}, 1<<20)}
	base := yaml.NewRNode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yaml.NewStringRNode("l").YNode(), wide}})
	l := &Overlay{Base: base, Over: []*yaml.RNode{yaml.NewMapRNode(nil)}, Where: []string{"composition.yaml:7"}}
	const want = "composition.yaml:7: the override does not fit: l[1048573]: more than 1048576 values"
	if _, _, err := l.Merge(nil); !errors.Is(err, failure.Untrusted) || err.Error() != want {
		t.Errorf("%v", err)
	}
}
