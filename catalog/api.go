package catalog

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FunctionID names what a function implements.
type FunctionID struct{ Group, Version, Kind string }

// String writes the id as group/version/kind, without the empty parts.
func (id FunctionID) String() string { panic("unwritten") }

// APIVersion is the id's apiVersion: group/version, or the version alone.
func (id FunctionID) APIVersion() string { panic("unwritten") }

// IDOf splits an apiVersion and a kind.
func IDOf(apiVersion, kind string) FunctionID { panic("unwritten") }

// Function is one version of a function of a catalog.
type Function struct {
	ID          FunctionID
	Runtimes    []Runtime   // in the order written; the version's win over the function's
	Schema      *yaml.RNode // openAPIV3Schema, nil for none
	Idempotent  *bool       // nil where the catalog does not say
	Description string
	Publisher   string
	Home        string
	Usage       string
	Examples    []string
	License     string
	Maintainers []string
	Tags        []string
	Line        int // where it is written, 1-based; 0 where not known
}

// Runtime is one way of running a function.
type Runtime struct {
	Kind string      // container, exec, starlark, …
	Spec *yaml.RNode // the way's own spec, unread
	Line int
}

// Catalog lists functions. It is a Resolver.
type Catalog struct {
	Kind        string // as written: Catalog, KRMFunctionCatalog or KRMFunctionDefinition
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Functions   []Function // one for each version of each function, in the order written
	// unexported index
}

// Resolver finds the function for an id. The error is a *NotFoundError where there is
// none, any other where it could not be looked for.
type Resolver interface {
	Resolve(ctx context.Context, id FunctionID) (Function, error)
}

// NotFoundError says that no catalog has a function.
type NotFoundError struct {
	ID       FunctionID
	Searched []string // the catalogs, in order
}

func (e *NotFoundError) Error() string { panic("unwritten") }

// SyntaxError is something wrong in a catalog, at a place.
type SyntaxError struct {
	File string
	Line int // 1-based; 0 where not known
	Msg  string
}

func (e *SyntaxError) Error() string { panic("unwritten") }

// Decode reads a catalog. name is what errors call it: a path or a reference.
func Decode(name string, data []byte) (*Catalog, error) { panic("unwritten") }

// Resolve implements Resolver: the first entry with the id wins.
func (c *Catalog) Resolve(_ context.Context, id FunctionID) (Function, error) { panic("unwritten") }

// Chain asks one resolver after the other; the first match wins.
func Chain(rs ...Resolver) Resolver { panic("unwritten") }

// Lazy loads a catalog on first use, once; a failed load is reported to every caller.
func Lazy(load func(context.Context) (*Catalog, error)) Resolver { panic("unwritten") }
