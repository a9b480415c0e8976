package pipeline_test

import (
	"context"
	"os"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/pipeline"
)

// TestMain has this program be what krmcat is where kustomize or a sandbox starts it.
func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	os.Exit(m.Run())
}

// itemsOf returns a Build that returns the resources alone.
func itemsOf(build func(context.Context, pipeline.Apply) (pipeline.Built, error)) func(context.Context, pipeline.Apply) ([]*yaml.RNode, error) {
	return func(ctx context.Context, apply pipeline.Apply) ([]*yaml.RNode, error) {
		built, err := build(ctx, apply)
		return built.Items, err
	}
}
