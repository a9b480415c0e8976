package pipeline

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Types of the packages below that callers use.
type (
	// Options are the choices that `kustomize build` offers too.
	Options = source.Options
	// Helm is what `kustomize build --enable-helm` and its neighbours set.
	Helm = source.Helm
	// Reorder is the order of the resources at the end.
	Reorder = source.Reorder
	// Warning is something in the files of a target that is accepted, but probably a mistake.
	Warning = source.Warning
	// SyntaxError says that something is wrong in the files of a target.
	SyntaxError = source.SyntaxError
	// RestrictedError says that the load restrictor keeps a functionConfig from naming a file.
	RestrictedError = disk.RestrictedError
	// BuildError says that kustomize cannot build a target.
	BuildError = rewrite.BuildError

	// Step is one function that a target asks for.
	Step = fnconfig.Step
	// Role is the list that a function stands in. It determines what happens to the output.
	Role = fnconfig.Role
	// Inline is a runtime that stands in the functionConfig.
	Inline = fnconfig.Inline
	// CatalogRef is an entry of a `catalogs` list.
	CatalogRef = fnconfig.CatalogRef

	// Consolidated is a Composition with all that it imports in it.
	Consolidated = composition.Consolidated
	// ConsolidatedTransformer is one transformer of a consolidated Composition.
	ConsolidatedTransformer = composition.ConsolidatedTransformer
	// SourceFile is a Composition that is part of a consolidated one.
	SourceFile = composition.SourceFile
	// Import is an entry of transformersFrom.
	Import = composition.Import
)

// The roles of a Step.
const (
	Generator   = fnconfig.Generator   // run on nothing, output added
	Transformer = fnconfig.Transformer // output replaces the input
	Validator   = fnconfig.Validator   // output discarded; a change is an error
)

// The values of `--reorder`. Unspecified is kustomize's default: legacy, unless the
// kustomization has sortOptions.
const (
	ReorderUnspecified = source.ReorderUnspecified
	ReorderLegacy      = source.ReorderLegacy
	ReorderNone        = source.ReorderNone
)

// Consolidate reads the Composition in dir and all that it imports, and runs nothing. Where the
// config of a Step depends on the function's schema (Step.SchemaMatters), the caller has to
// replace the Step by one that was merged with it.
func Consolidate(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (*Consolidated, error) {
	return composition.Consolidate(ctx, source.NewReader(fsys, o), dir)
}

// Misfit says which field of a resource cannot be printed as kustomize prints, through JSON and
// YAML 1.1, and why: "data.key holds the character U+007F, which YAML does not allow". It is
// empty where all fields can be.
func Misfit(n *yaml.RNode) string { return resource.Misfit(n) }
