package fnexec

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/sandbox"
)

// Input is one call of a function.
type Input struct {
	Config *yaml.RNode   // functionConfig, nil for none; not changed
	Items  []*yaml.RNode // may be changed and must not be used after the call
	// KeepComments copies comments and field order from input to output. It costs more
	// than all the rest: ask for it only where comments can reach the user.
	KeepComments bool
	// DefaultPaths gives generated resources a path annotation ([ns/]kind_name.yaml),
	// where the output is written to files.
	DefaultPaths bool
	DeferFailure bool
	Limits       sandbox.Limits
	// NeedsOutput makes it an error to write nothing at all to stdout; an empty list is
	// not nothing.
	NeedsOutput bool
}

// Output is what a function gave back.
type Output struct {
	Items   []*yaml.RNode
	Results []Result
	Stderr  string // its tail
	Exit    int    // exit code: not 0 only with DeferFailure
	Wrote   bool   // it wrote something to stdout
}

// Result is one entry of a function's results: KRM Functions Specification v1.
type Result struct {
	Message  string `json:"message" yaml:"message"`
	Severity string `json:"severity,omitempty" yaml:"severity,omitempty"`
	// resourceRef, field, file, tags: to be written out
}

// Call runs one function once. A function that fails gives a *FunctionError; the Output
// is then still filled in as far as the function got: its results are never lost.
func Call(ctx context.Context, r Runner, in Input) (Output, error) { panic("unwritten") }
