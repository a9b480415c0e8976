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

// Kind is the key of this runtime under `runtime:`.
const Kind = "container"

// PullPolicy says when an image is fetched.
type PullPolicy = engine.PullPolicy

// The pull policies. Images are named by digest, so that a local one is never outdated.
const (
	PullAlways       = engine.PullAlways
	PullIfNotPresent = engine.PullIfNotPresent
	PullNever        = engine.PullNever
)

// Options say how images are run.
type Options struct {
	// CacheDir is the absolute path of krmcat's cache, which holds the root file systems of images.
	CacheDir string
	// Host confines processes of images that run without a container engine; nil for none. Grants
	// must be of an Allow with the same Host.
	Host *sandbox.Host
	// Runtime is Auto, which "" means too, the name of a container engine, or a sandbox.Engine,
	// which must be the first of the Host.
	Runtime string
	// AskedBy names what chose the Runtime, for people: a flag or a file; "" for unknown.
	AskedBy string
	// PullPolicy is PullIfNotPresent by default.
	PullPolicy PullPolicy
	// VerifyCache names what asks for each cached image to be compared with its layers, for
	// people. They are fetched for that, once in each process. If it is "", an image whose
	// metadata are unchanged counts as unchanged.
	VerifyCache string
	// Environ is this process's environment, as KEY=VALUE. Container engines are looked up in its
	// PATH.
	Environ []string
	// Notify is called with what was chosen and why. It may be nil.
	Notify func(string)
	// Warn is called with known limitations of what was chosen. It may be nil.
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

// New returns the runtime. It starts nothing.
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

// Prepare implements fnexec.Runtime. The error is a *fnexec.SpecError, or a *NoEngineError if it is
// certain that no image can be run here. Prepared.Needs is filled in with the latter too.
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

// load returns a Runner of a verified image. The image is then on this machine; nothing was
// started.
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

// Pin implements fnexec.Pinner. The image gets its digest, which is its sha256 too. A different
// sha256 is an error.
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

// pinned adds the digest to the image's name as it was written. Short names that engines
// complete stay short.
func pinned(image string, had, d digest.Digest) string {
	if had != "" {
		return image
	}
	return image + "@" + d.String()
}
