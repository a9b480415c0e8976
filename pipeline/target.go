package pipeline

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Apply runs step i of the target on items, and returns its output. If the Step is InFiles, a
// resource of the output that is one of the items is the same RNode, with new content.
type Apply func(ctx context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error)

// Target is a directory that was read, and can be built.
type Target interface {
	Kind() string // Kustomization, Component or Composition
	Steps() []Step
	// Notes returns facts about the target for its plan, such as that helm runs.
	Notes() []string
	// Build returns the resources. It only calls apply. It fails if a Step was not applied at least
	// once.
	Build(ctx context.Context, apply Apply) (Built, error)
}

// Ready checks that this machine has what is needed to build a target: helm, and a directory for
// its temporary files. The error is a *scratch.Error, or has the position that needs helm.
func Ready(t Target) error {
	if t, ok := t.(*target); ok {
		return t.Usable()
	}
	return nil
}

// Load reads the target in dir and everything that it refers to, and plans its Steps. It runs
// nothing. fsys is the disk, or another file system in tests.
func Load(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (Target, error) {
	c, err := rewrite.Compile(ctx, source.NewReader(fsys, o), dir, evaluate)
	if err != nil {
		return nil, err
	}
	return &target{c}, nil
}

// TargetFile returns the name of the file that makes a directory a Kustomization, Component or
// Composition, "" for none.
func TargetFile(dir string) string {
	found := source.KindsIn(filesys.MakeFsOnDisk(), dir)
	for _, name := range append(found.Composition, found.Kustomization...) {
		return name
	}
	return ""
}
