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
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Types of inner packages that callers use.
type (
	// Options are the options of `kustomize build`.
	Options = source.Options
	// Helm has the options of `kustomize build` about helm.
	Helm = source.Helm
	// Reorder is the order of the resources in the output.
	Reorder = source.Reorder
	// Warning reports something in the files of a target that is valid, but probably a mistake.
	Warning = source.Warning
	// SyntaxError reports an error in the files of a target.
	SyntaxError = source.SyntaxError
	// RestrictedError reports a file outside the directory that the load restrictor allows.
	RestrictedError = disk.RestrictedError
	// BuildError reports that kustomize cannot build a target.
	BuildError = rewrite.BuildError

	// Step is one function of a target.
	Step = fnconfig.Step
	// Role is the list that has a function. It determines what happens to the output.
	Role = fnconfig.Role
	// Inline is a runtime that is part of the functionConfig.
	Inline = fnconfig.Inline
	// Selection says which resources a Step gets.
	Selection = fnconfig.Selection
	// Selector matches resources that have all of its values.
	Selector = selector.Selector
	// Selectors are the selectors and exclusions of a Selection.
	Selectors = selector.Selection
	// Named is a function of a catalog that a functionConfig names.
	Named = fnconfig.Named
	// Command is a function that the user calls by flags, and that no file lists.
	Command = fnconfig.Command
	// Program is the runtime that a flag names, which permits it to run.
	Program = fnconfig.Program
	// ConfigFile is a file of a functionConfig that was read.
	ConfigFile = fnconfig.File
	// Value is an entry of the ConfigMap that is the functionConfig of a Command.
	Value = fnconfig.Value
	// Latest is a functionConfig that earlier functions may change.
	Latest = fnconfig.Latest
	// Declarations says how functions run that are declared among the resources.
	Declarations = fnconfig.Declarations
	// CatalogRef is an entry of a `catalogs` list.
	CatalogRef = fnconfig.CatalogRef

	// Consolidated is a Composition with everything that it imports.
	Consolidated = composition.Consolidated
	// ConsolidatedTransformer is one transformer of a consolidated Composition.
	ConsolidatedTransformer = composition.ConsolidatedTransformer
	// SourceFile is a Composition that is part of a consolidated one.
	SourceFile = composition.SourceFile
	// Import is an entry of transformersFrom.
	Import = composition.Import
)

// NamedKind is the Kind of a Program that is a function of a catalog, by its name.
const NamedKind = fnconfig.NamedKind

// CompositionKind is the kind of a target that is a Composition.
const CompositionKind = source.CompositionKind

// The roles of a Step.
const (
	Generator   = fnconfig.Generator   // has no input; the output is added
	Transformer = fnconfig.Transformer // the output replaces the input
	Validator   = fnconfig.Validator   // the output is discarded; a change is an error
)

// The values of `--reorder`. Unspecified is kustomize's default: legacy, unless the kustomization
// has sortOptions.
const (
	ReorderUnspecified = source.ReorderUnspecified
	ReorderLegacy      = source.ReorderLegacy
	ReorderNone        = source.ReorderNone
)

// Consolidate reads the Composition in dir and everything that it imports. It runs nothing. If the
// config of a Step depends on the function's schema (Step.SchemaMatters), the caller must replace
// the Step by one that was merged with the schema.
func Consolidate(ctx context.Context, fsys filesys.FileSystem, dir string, o Options) (*Consolidated, error) {
	return composition.Consolidate(ctx, source.NewReader(fsys, o), dir)
}

// Misfit returns which field of a resource cannot be printed as kustomize prints, by JSON and YAML
// 1.1, and why: "data.key holds the character U+007F, which YAML does not allow". It is empty if
// all fields can be printed.
func Misfit(n *yaml.RNode) string { return resource.Misfit(n) }
