package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
)

// program is what an image has to run, and where.
type program struct {
	root string   // the image's root file system, on this machine
	path string   // in it
	args []string // all but the program's name
	dir  string   // in it
	env  []string // the image's, KEY=VALUE

	platform imagePlatform // that the image is for
}

// wayError is what is wrong with a way of confining, in words without its name.
type wayError struct{ missing sandbox.Missing }

func (e *wayError) Error() string { return e.missing.Why() }

// Unwrap returns what happened.
func (e *wayError) Unwrap() error { return e.missing.Err }

// rooted runs images with this machine's own means: the image's root file system, and a
// confined process in it. No daemon has a hand in it.
type rooted struct {
	way  sandbox.Way
	open func(ctx context.Context, a registry.Artifact, s spec) (program, error)
}

// daemonless finds out whether this machine can. nil where it cannot: then it is said why.
func (r *Runtime) daemonless(ctx context.Context) (*rooted, []Looked) {
	way, missing, err := r.options.Host.Way(ctx)
	var none *sandbox.UnconfinedError
	if errors.As(err, &none) {
		missing = none.Missing
	}
	var looked []Looked
	for _, m := range missing {
		looked = append(looked, Looked{string(m.Way), &wayError{m}})
	}
	wanted := r.options.Runtime
	if wanted != Auto { // the others do not matter
		looked = slices.DeleteFunc(looked, func(l Looked) bool { return l.Name != wanted })
	}
	switch {
	case err == nil && (wanted == Auto || wanted == string(way)):
		return &rooted{way: way, open: r.unpack}, looked
	case err == nil && len(looked) == 0: // another way works, and was not asked for
		looked = []Looked{{wanted, fmt.Errorf("processes are confined by %s here", way)}}
	case len(looked) == 0:
		looked = []Looked{{wanted, err}}
	}
	return nil, looked
}

// load implements engine.
func (r *rooted) load(ctx context.Context, a registry.Artifact, s spec, g sandbox.Grant) (fnexec.Runner, error) {
	p, err := r.open(ctx, a, s)
	if err != nil {
		return nil, err
	}
	if err := g.KnownIn(p.root); err != nil {
		return nil, err
	}
	if err := g.MountableIn(p.root); err != nil {
		return nil, fmt.Errorf("image %s: %w", s.image, err)
	}
	return rootedRunner{program: p, grant: g}, nil
}

// rootedRunner calls one image as a confined process.
type rootedRunner struct {
	program program
	grant   sandbox.Grant
}

// Run implements fnexec.Runner. What its environment has beside the image's is for the
// grant to say.
func (r rootedRunner) Run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	p := r.program
	err := r.grant.Run(ctx, sandbox.Cmd{Root: p.root, Path: p.path, Args: p.args, Dir: p.dir, Env: p.env},
		sandbox.Streams{In: in, Out: out, Notes: notes})
	code, ok := sandbox.ExitCode(err)
	if !ok {
		if why := p.platform.foreign(); why != "" && errors.Is(err, syscall.ENOEXEC) {
			return fmt.Errorf("%w: %s", err, why)
		}
		return err
	}
	return exitError(code, err, r.grant)
}

// unpack lays an image down in the cache, and finds its program.
func (r *Runtime) unpack(ctx context.Context, a registry.Artifact, s spec) (program, error) {
	img, err := r.images.get(ctx, a)
	if err != nil {
		return program{}, err
	}
	if err := img.workingDir(); err != nil {
		return program{}, err
	}
	argv := img.config.argv(s.args)
	if len(s.command) > 0 {
		argv = slices.Concat(s.command, s.args)
	}
	if len(argv) == 0 {
		argv = []string{""} // which cannot be found, and the error says why
	}
	p, err := img.lookup(argv[0])
	if err != nil {
		return program{}, err
	}
	return program{root: img.root, path: p.path, args: argv[1:], dir: img.config.WorkingDir, env: img.environ(), platform: img.config.Platform}, nil
}

// environ is the image's environment, with what every engine adds.
func (i image) environ() []string {
	env := slices.Clone(i.config.Env)
	for _, e := range []string{"PATH=" + defaultPath, "HOME=/"} {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(env, func(had string) bool { return strings.HasPrefix(had, name+"=") }) {
			env = append(env, e)
		}
	}
	return env
}
