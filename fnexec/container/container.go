package container

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Kind is the key under `runtime:`.
const Kind = "container"

// PullPolicy says when an engine fetches an image.
type PullPolicy = engine.PullPolicy

// The policies. Images are named by digest: what is there is never out of date.
const (
	PullAlways       = engine.PullAlways
	PullIfNotPresent = engine.PullIfNotPresent
	PullNever        = engine.PullNever
)

// Options say how images are run.
type Options struct {
	// CacheDir is the absolute path of krmcat's cache, where the root file systems of images
	// are kept.
	CacheDir string
	// Host is the machine that images without an engine run on; nil where none do. Grants
	// have to be of an Allow with the same one.
	Host *sandbox.Host
	// Runtime is Auto (what "" means too), the name of an engine, or a sandbox.Engine, which the
	// Host has to try first.
	Runtime string
	// AskedBy is who asked for Runtime, for people; "" where that is not said.
	AskedBy string
	// PullPolicy is PullIfNotPresent where it is empty.
	PullPolicy PullPolicy
	// VerifyCache is who has each image in the cache compared with its layers, which are
	// fetched, once in each process: for people. Where it is "", what nobody seems to have
	// touched is taken for whole.
	VerifyCache string
	// Environ is this process's environment, as KEY=VALUE: engines are looked up in its PATH.
	Environ []string
	// Notify is told what was chosen and why, for those who want to know. May be nil.
	Notify func(string)
	// Warn is told what may go wrong without a word on this machine. May be nil.
	Warn func(string)
}

// Runtime runs container images. It implements fnexec.Runtime and fnexec.Pinner. It is safe
// for concurrent use.
type Runtime struct {
	options Options
	engine  engine.Options
	images  *image.Store
	choice  choice
}

// New makes the runtime. Nothing is looked for yet.
func New(o Options) *Runtime {
	if o.Runtime == "" {
		o.Runtime = Auto
	}
	if o.PullPolicy == "" {
		o.PullPolicy = PullIfNotPresent
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Runtime{
		options: o,
		engine:  engine.Options{Pull: o.PullPolicy, Environ: o.Environ, Notify: o.Notify, Warn: o.Warn},
		images: image.New(image.Options{
			CacheDir: o.CacheDir, Never: o.PullPolicy == PullNever, VerifyCache: o.VerifyCache, Notify: o.Notify, Warn: o.Warn,
		}),
	}
}

// Kind implements fnexec.Runtime.
func (*Runtime) Kind() string { return Kind }

// Prepare implements fnexec.Runtime. The error is a *fnexec.SpecError, or a *NoEngineError
// where it shows without asking anybody that no image can be run here: Needs then say all
// the same what would be verified.
func (r *Runtime) Prepare(n *yaml.RNode, at fnexec.Site) (fnexec.Prepared, error) {
	s, err := read(n, at)
	if err != nil {
		return fnexec.Prepared{}, err
	}
	p := fnexec.Prepared{Needs: fnexec.Needs{
		From: s.from, Want: registry.Want{Role: mediatypes.RoleContainer, Platform: platform(at)},
		Use: verify.UseImage, Title: Kind + " " + s.image, Request: s.request,
		Args: slices.Concat(s.command.Program, s.command.Args),
	}}
	if err := r.conceivable(); err != nil {
		return p, err
	}
	p.Load = func(ctx context.Context, t verify.Trusted, g sandbox.Grant) (fnexec.Runner, error) {
		return r.load(ctx, s, t, g)
	}
	return p, nil
}

// load makes a Runner of what was verified: the image is there, and nothing was started.
func (r *Runtime) load(ctx context.Context, s spec, t verify.Trusted, g sandbox.Grant) (fnexec.Runner, error) {
	a, err := t.Artifact()
	if err == nil && !g.Valid() {
		err = sandbox.ErrNotGranted
	}
	if err != nil {
		return nil, fmt.Errorf("loading the image %s: %w", s.image, err)
	}
	e, err := r.choose(ctx, g)
	if err != nil {
		return nil, err
	}
	return e.Load(ctx, a, s.command, g)
}

// Pin implements fnexec.Pinner: the image gets its digest, which is its sha256 too. A
// sha256 that says otherwise is an error.
func (*Runtime) Pin(ctx context.Context, n *yaml.RNode, at fnexec.Site, resolve fnexec.ResolveFunc) error {
	s := fnexec.NewSpec(n, Kind)
	s.Only(ofCatalog()...)
	image, promised := s.Get("image").Text(), s.Get("sha256").Digest()
	if image == "" {
		s.Fail("it names no image")
	}
	if err := s.Err(); err != nil {
		return err
	}
	l, err := reference.ParseImage(image)
	if err != nil {
		return fmt.Errorf("pinning the image: %w", err)
	}
	a, err := resolve(ctx, l, registry.Want{Role: mediatypes.RoleContainer, Platform: platform(at)})
	if err != nil {
		return fmt.Errorf("pinning the image %s: %w", image, err)
	}
	if promised != "" && promised != a.Root.Digest {
		return &fnexec.SpecError{Field: Kind + ".sha256", Msg: fmt.Sprintf("it is %s, the image has %s",
			promised.Encoded(), a.Root.Digest.Encoded())}
	}
	s.Set("image", pinned(image, l.Digest, a.Root.Digest))
	s.Set("sha256", a.Root.Digest.Encoded())
	return nil
}

// pinned writes the digest behind the image's name as it was written, so that the short
// names that engines complete stay what they are.
func pinned(image string, had, d digest.Digest) string {
	if had != "" {
		return image
	}
	return image + "@" + d.String()
}
