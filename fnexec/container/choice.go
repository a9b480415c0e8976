package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
)

// Auto is the Runtime that takes what is there: this machine's own means before an engine.
const Auto = "auto"

// The engines.
const (
	Docker  = engine.Docker
	Podman  = engine.Podman
	Nerdctl = engine.Nerdctl
)

// Engines lists the engines.
func Engines() []string { return []string{Docker, Podman, Nerdctl} }

// Runtimes lists what Options.Runtime may be.
func Runtimes() []string {
	out := []string{Auto}
	for _, w := range sandbox.AllEngines() {
		out = append(out, string(w))
	}
	return append(out, Engines()...)
}

// loader is one way of running images.
type loader interface {
	// Load makes sure that an image is there, and that it can be called.
	Load(ctx context.Context, a registry.Artifact, c image.Command, g sandbox.Grant) (fnexec.Runner, error)
}

// Looked is something that could have run an image, and why it does not.
type Looked struct {
	Name string // bwrap, docker, …
	Err  error
}

// NoEngineError says that nothing on this machine runs images, and what was looked for.
type NoEngineError struct {
	Runtime string // Options.Runtime
	Looked  []Looked
}

func (e *NoEngineError) Error() string {
	msg := "nothing on this machine runs container images"
	if e.Runtime != Auto {
		msg = "it cannot be run by " + e.Runtime
	}
	var reasons []sandbox.Reason
	for _, l := range e.Looked {
		if e.Runtime == l.Name {
			return msg + ": " + l.Err.Error() // nothing else was asked for
		}
		reasons = append(reasons, sandbox.Reason{Name: l.Name, Why: l.Err.Error()})
	}
	if len(reasons) == 0 {
		return msg
	}
	return msg + ": " + sandbox.ListReasons(reasons)
}

// Elsewhere tells render that the next runtime of the function may do.
func (*NoEngineError) Elsewhere() bool { return true }

// Unwrap gives what each of them said.
func (e *NoEngineError) Unwrap() []error {
	var out []error
	for _, l := range e.Looked {
		out = append(out, l.Err)
	}
	return out
}

// Unreachable tells that the one engine that was asked for is installed and does not answer.
func (e *NoEngineError) Unreachable() bool {
	var failed *EngineError
	return e.Runtime != Auto && errors.As(e, &failed) && failed.Kind == Unreachable
}

// Packages lists the packages, as Debian and Ubuntu call them, any one of which might do,
// the best first: of what is there and does not work another copy would not.
func (e *NoEngineError) Packages() []string {
	list := []struct{ name, pkg string }{
		{string(sandbox.Bubblewrap), "bubblewrap"}, {Podman, "podman"}, {Docker, "docker.io"},
	}
	var out []string
	for _, p := range list {
		linux := slices.Contains(sandbox.AllEngines(), sandbox.Engine(p.name))
		if (e.Runtime == Auto && (runtime.GOOS == "linux" || !linux) || e.Runtime == p.name) && !e.there(p.name) {
			out = append(out, p.pkg)
		}
	}
	return out
}

// there tells what is installed and does not work.
func (e *NoEngineError) there(name string) bool {
	return slices.ContainsFunc(e.Looked, func(l Looked) bool {
		return l.Name == name && !errors.Is(l.Err, engine.ErrNotInPath) && !errors.As(l.Err, new(*sandbox.NotFoundError))
	})
}

// choice is what was found to work, once.
type choice struct {
	mu   sync.Mutex
	made bool
	by   loader
	err  *NoEngineError
}

// conceivable looks whether anything is installed that could run an image. It starts
// nothing: whether it works shows later.
func (r *Runtime) conceivable() error {
	if r.alone() {
		return nil
	}
	var looked []Looked
	for _, name := range r.engines() {
		_, err := engine.Find(name, r.engine)
		if err == nil {
			return nil
		}
		looked = append(looked, Looked{name, err})
	}
	looked = append(looked, r.passedOver()...)
	if r.options.Runtime != Auto && len(looked) == 0 {
		looked = []Looked{{r.options.Runtime, errors.New("it works on Linux only")}}
		if !slices.Contains(Runtimes(), r.options.Runtime) {
			looked[0].Err = errors.New("krmcat knows " + strings.Join(Runtimes(), ", "))
		}
	}
	return &NoEngineError{Runtime: r.options.Runtime, Looked: looked}
}

// alone reports whether this machine's own means are asked for, and could be there.
func (r *Runtime) alone() bool {
	if r.options.Host == nil || runtime.GOOS != "linux" {
		return false
	}
	return r.options.Runtime == Auto || slices.Contains(sandbox.AllEngines(), sandbox.Engine(r.options.Runtime))
}

// engines lists the engines that may be taken.
func (r *Runtime) engines() []string {
	if r.options.Runtime == Auto {
		return []string{Docker, Podman} // and not one that loses output
	}
	return slices.DeleteFunc(Engines(), func(name string) bool { return name != r.options.Runtime })
}

// passedOver says why Auto does not take nerdctl, which who wants it has to ask for.
func (r *Runtime) passedOver() []Looked {
	if r.options.Runtime != Auto {
		return nil
	}
	_, err := engine.Find(Nerdctl, r.engine)
	return []Looked{{Nerdctl, cmp.Or(err, engine.ErrLosesOutput)}}
}

// choose finds what runs images here, once for all images. What ctx cut short is tried
// again by the next.
func (r *Runtime) choose(ctx context.Context, g sandbox.Grant) (loader, error) {
	r.choice.mu.Lock()
	defer r.choice.mu.Unlock()
	if !r.choice.made {
		e, looked := r.look(ctx, g)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		r.choice.by, r.choice.made = e, true
		if e == nil {
			r.choice.err = &NoEngineError{Runtime: r.options.Runtime, Looked: looked}
		}
	}
	if r.choice.err != nil {
		return nil, r.choice.err
	}
	return r.choice.by, nil
}

// look tries one after the other, and says what it found.
func (r *Runtime) look(ctx context.Context, g sandbox.Grant) (loader, []Looked) {
	var looked []Looked
	if r.alone() {
		e, missing := r.daemonless(ctx)
		looked = append(looked, missing...)
		if e != nil {
			r.say(string(e.engine), looked)
			return e, nil
		}
	}
	for _, name := range r.engines() {
		e, err := engine.Find(name, r.engine)
		if err != nil {
			looked = append(looked, Looked{name, err})
			continue
		}
		warning, err := e.Answers(ctx, g)
		if err != nil {
			looked = append(looked, Looked{e.String(), err})
			continue
		}
		r.say(e.String(), looked)
		if warning != "" {
			r.options.Warn(warning)
		}
		return e, nil
	}
	return nil, append(looked, r.passedOver()...)
}

// say tells what was chosen and why.
func (r *Runtime) say(name string, before []Looked) {
	text := "container images run through " + name
	if r.options.Runtime != Auto {
		text += ", as was asked"
		if r.options.AskedBy != "" {
			text += " by " + r.options.AskedBy
		}
	}
	for _, l := range before {
		text += fmt.Sprintf("; not through %s: %v", l.Name, l.Err)
	}
	r.options.Notify(text)
}
