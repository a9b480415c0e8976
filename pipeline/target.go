package pipeline

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Apply runs step i of the target on items and returns what became of them.
type Apply func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error)

// Target is a directory that was read and can be built.
type Target interface {
	Kind() string // Kustomization, Component or Composition
	Steps() []Step
	// Notes lists what a plan should say of the target itself, such as that helm runs.
	Notes() []string
	// Build makes the resources. It calls nothing but apply. Every Step is applied at
	// least once, or Build fails.
	Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error)
}

// Ready checks that this machine has what building a target takes: a directory for temporary
// files, where kustomize calls functions or helm, and helm. The error is a *scratch.Error, or
// has the position that needs helm.
func Ready(t Target) error {
	if t, ok := t.(*target); ok {
		return t.Usable()
	}
	return nil
}

// Load reads the target in dir and all that it refers to, and plans its Steps. It runs nothing.
// fsys is the disk, or a test's own.
func Load(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (Target, error) {
	c, err := rewrite.Compile(ctx, source.NewReader(fsys, o), dir, evaluate)
	if err != nil {
		return nil, err
	}
	return &target{c}, nil
}
