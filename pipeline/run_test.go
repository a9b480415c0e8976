package pipeline

import (
	"context"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
)

// TestMissing declares two functions of which one runs: no target is known that leaves one out.
func TestMissing(t *testing.T) {
	t.Parallel()
	steps := []Step{
		{Where: "a.yaml:1", ID: catalog.IDOf("example.com/v1", "First"), Name: "f", Role: Generator},
		{Where: "a.yaml:5", ID: catalog.IDOf("example.com/v1", "Second"), Name: "s", Role: Generator},
	}
	a := newApplied(steps, func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) { return nil, nil })
	if _, err := a.run(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.missing(); err == nil || err.Error() != "a.yaml:5: Second s was declared and never ran" {
		t.Errorf("%v", err)
	}
	if _, err := a.run(t.Context(), 1, nil); err != nil || a.missing() != nil {
		t.Errorf("%v, %v", err, a.missing())
	}
}
