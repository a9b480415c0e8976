package fnexec

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Runtime runs functions of one kind.
type Runtime interface {
	// Kind returns the key of the runtime under `runtime:`.
	Kind() string
	// Prepare reads a runtime's spec strictly, and returns what a call of it needs. It does
	// no I/O. Errors name the field, and its line if that is known.
	Prepare(spec *yaml.RNode, at Site) (Prepared, error)
}

// Pinner is a Runtime that can rewrite its spec to name exact bytes.
type Pinner interface {
	// Pin changes spec in place: it adds digests to references, and sha256 checksums. It pins
	// the program of every platform in the spec. If resolve returns an Artifact with another
	// From, the program was published there, and the spec then names that place.
	Pin(ctx context.Context, spec *yaml.RNode, at Site, resolve ResolveFunc) error
}

// Platformer is a Runtime whose spec may list programs for several platforms.
type Platformer interface {
	// Platforms returns each of them once, as "os/arch"; "" for a program for every platform.
	Platforms(spec *yaml.RNode) []string
}

// ResolveFunc is registry.Client.Resolve.
type ResolveFunc func(context.Context, reference.Locator, registry.Want) (registry.Artifact, error)

// Site says where a runtime's spec was written.
type Site struct {
	// Dir is the directory to which paths in the spec are relative. If it is empty, the spec
	// was not read from this machine's disk, and a path in it is an error.
	Dir string
	// Work is the working directory of the function: the directory of the Kustomization or
	// Composition that lists it.
	Work string
	// Inline means that the spec is in the functionConfig and not in a catalog. Bare names are
	// looked up in PATH then, and programs run in place.
	Inline bool
	// Config is the functionConfig, for runtimes that read their program from it.
	Config *yaml.RNode
	// Platform is the platform to choose, as "os/arch"; "" for this machine's.
	Platform string
}

// Prepared is a function whose spec was read. It is neither trusted nor granted anything yet.
type Prepared struct {
	Needs Needs
	// Load returns the Runner. It refuses a zero Trusted and a zero Grant. It reads the
	// content of Trusted and may compile it, but runs nothing.
	Load func(ctx context.Context, t verify.Trusted, g sandbox.Grant) (Runner, error)
}

// Needs says what must be found, verified and granted before a function can be loaded.
type Needs struct {
	From     reference.Locator  // the place of the program
	Want     registry.Want      // what is expected at that place
	Literal  *registry.Artifact // the program itself, if it is written inline
	Promised digest.Digest      // the sha256 in the spec; "" for none
	Inner    func(ctx context.Context, blob []byte) (digest.Digest, error)
	Use      verify.Use
	InPlace  bool   // a local file that the user names by a flag: run in place, unverified
	Title    string // for people: "exec set-label", "starlark oci://…"
	Request  sandbox.Request
	// Args are the words that the spec passes to the program: its command, if the spec chooses
	// one, and its arguments. Nil for none.
	Args []string
	// Look finds the file of a From that is a bare name. That file is verified and loaded. Nil
	// if From is a place.
	Look func(ctx context.Context, g sandbox.Grant) (reference.Locator, error)
	// Beside returns further files that the program uses from its own directory. Each is
	// verified by itself, and Load uses only those that were. Nil for none.
	Beside func(ctx context.Context, t verify.Trusted) ([]registry.Artifact, error)
	// DeferFailure continues the pipeline after the function exits with an error.
	DeferFailure bool
}

// Runner runs a loaded function, once per call. It is safe for concurrent use.
type Runner interface {
	// Run passes in to the function, and copies its stdout to out and its stderr to stderr.
	// If the function itself fails, the error is an *ExitError.
	Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error
}

// ListRunner is a Runner inside this process. It works on the parsed list, so that no YAML is
// printed and parsed for it.
type ListRunner interface {
	Runner
	RunList(ctx context.Context, list *ResourceList, stderr io.Writer) error
}
