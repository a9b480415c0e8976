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

// Runtime is a way of running functions.
type Runtime interface {
	// Kind is the key it answers to under `runtime:`.
	Kind() string
	// Prepare reads a runtime's spec, strictly, and says what running it needs. It does
	// no I/O. Errors name the field and its line where known.
	Prepare(spec *yaml.RNode, at Site) (Prepared, error)
}

// Pinner is a Runtime that can rewrite its spec so that it names exact bytes.
type Pinner interface {
	// Pin changes spec in place: references get their digest, and the sha256s are
	// written down. It pins every platform that the spec lists. Where resolve gives an
	// Artifact From another place than it was asked for, what is there was published:
	// the spec names that place then.
	Pin(ctx context.Context, spec *yaml.RNode, at Site, resolve ResolveFunc) error
}

// Platformer is a Runtime whose spec lists programs for several platforms.
type Platformer interface {
	// Platforms lists them, "os/arch", each once; "" for a program that is for every one.
	Platforms(spec *yaml.RNode) []string
}

// ResolveFunc is registry.Client.Resolve.
type ResolveFunc func(context.Context, reference.Locator, registry.Want) (registry.Artifact, error)

// Site is where a runtime's spec was written.
type Site struct {
	// Dir is the directory that relative paths of the spec are relative to. Empty where
	// the spec was not read from this machine's disk: then a path, or any other place
	// on this machine, is an error.
	Dir string
	// Work is the working directory of the function: that of the kustomization or
	// Composition that lists it.
	Work string
	// Inline is true where the spec stands in the functionConfig itself and not in a
	// catalog: bare names are looked up in PATH, and programs run in place.
	Inline bool
	// Config is the functionConfig, for runtimes that read their program from it.
	Config *yaml.RNode
	// Platform is "os/arch" to choose; empty for this machine's.
	Platform string
}

// Prepared is a function whose spec was read, and which is neither trusted nor granted
// anything yet.
type Prepared struct {
	Needs Needs
	// Load gives the Runner. It refuses a zero Trusted and a zero Grant. It reads what
	// Trusted yields and may compile it, but runs nothing.
	Load func(ctx context.Context, t verify.Trusted, g sandbox.Grant) (Runner, error)
}

// Needs is what must be found, verified and granted before a function can be loaded.
type Needs struct {
	From     reference.Locator  // where the program is
	Want     registry.Want      // what is expected there
	Literal  *registry.Artifact // the program itself, where it is written inline
	Promised digest.Digest      // the sha256 that the spec gives, "" for none
	Inner    func(ctx context.Context, blob []byte) (digest.Digest, error)
	Use      verify.Use
	InPlace  bool   // a local file the user names by flag: run where it is, unverified
	Title    string // for people: "exec set-label", "starlark oci://…"
	Request  sandbox.Request
	// Args are the words that the spec gives to the program: its command, where it chooses that,
	// and its arguments. Nil for none.
	Args []string
	// Look finds the file that From is where that is a bare name: what is judged, and loaded.
	// Nil where From is a place.
	Look func(ctx context.Context, g sandbox.Grant) (reference.Locator, error)
	// Beside gives the further files that the program uses of the directory in which it stands:
	// each is judged as it is, and Load finds those with it that were. Nil for none.
	Beside func(ctx context.Context, t verify.Trusted) ([]registry.Artifact, error)
	// DeferFailure lets the pipeline go on when the function exits with an error.
	DeferFailure bool
}

// Runner runs a loaded function once per call. It is safe for concurrent use.
type Runner interface {
	// Run writes in to the function and copies its stdout to out and its stderr to
	// stderr. A function that ran and said no is an *ExitError.
	Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error
}

// ListRunner is a Runner that lives in this process: it works on the list itself, so that
// no YAML is printed or parsed around it.
type ListRunner interface {
	Runner
	RunList(ctx context.Context, list *ResourceList, stderr io.Writer) error
}
