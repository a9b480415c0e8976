package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
)

// engineError is the reason why an engine does not work, without its name.
type engineError struct{ missing sandbox.Missing }

func (e *engineError) Error() string { return e.missing.Why() }

// Unwrap returns the cause.
func (e *engineError) Unwrap() error { return e.missing.Err }

// rooted runs an image as a confined process in the image's root file system, without a daemon.
type rooted struct {
	engine sandbox.Engine
	images *image.Store
}

// daemonless returns the loader if an engine works here; otherwise nil, and why.
func (r *Runtime) daemonless(ctx context.Context) (*rooted, []Tried) {
	engine, missing, err := r.options.Host.Engine(ctx)
	var none *sandbox.UnconfinedError
	if errors.As(err, &none) {
		missing = none.Missing
	}
	var tried []Tried
	for _, m := range missing {
		tried = append(tried, Tried{string(m.Engine), &engineError{m}})
	}
	wanted := r.options.Runtime
	if wanted != Auto { // only that one matters
		tried = slices.DeleteFunc(tried, func(l Tried) bool { return l.Name != wanted })
	}
	switch {
	case err == nil && (wanted == Auto || wanted == string(engine)):
		return &rooted{engine: engine, images: r.images}, tried
	case err == nil && len(tried) == 0: // another engine works, but was not asked for
		tried = []Tried{{wanted, fmt.Errorf("processes are confined by %s here", engine)}}
	case len(tried) == 0:
		tried = []Tried{{wanted, err}}
	}
	return nil, tried
}

// Load implements loader.
func (r *rooted) Load(ctx context.Context, a registry.Artifact, c image.Command, g sandbox.Grant) (fnexec.Runner, error) {
	p, err := r.images.Program(ctx, a, c)
	if err != nil {
		return nil, err
	}
	if err := g.KnownIn(p.Root); err != nil {
		return nil, err
	}
	if err := g.MountableIn(p.Root); err != nil {
		return nil, fmt.Errorf("image %s: %w", a.Pinned().Display(), err)
	}
	return rootedRunner{program: p, grant: g}, nil
}

// rootedRunner runs one image as a confined process.
type rootedRunner struct {
	program image.Program
	grant   sandbox.Grant
}

// Run implements fnexec.Runner. The grant adds variables to the environment of the image.
func (r rootedRunner) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	p := r.program
	err := r.grant.Run(ctx, sandbox.Cmd{Root: p.Root, Path: p.Path, Args: p.Args, Dir: p.Dir, Env: p.Env},
		sandbox.Streams{Stdin: in, Stdout: out, Stderr: stderr})
	code, ok := sandbox.ExitCode(err)
	if !ok {
		if why := p.Platform.Foreign(); why != "" && errors.Is(err, syscall.ENOEXEC) {
			return fmt.Errorf("%w: %s", err, why)
		}
		return err
	}
	return fnexec.NewExitError(code, err, r.grant)
}
