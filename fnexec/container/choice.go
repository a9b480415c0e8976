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

// Auto is the Runtime that chooses what works here: engines of package sandbox before container
// engines.
const Auto = "auto"

// The container engines.
const (
	Docker  = engine.Docker
	Podman  = engine.Podman
	Nerdctl = engine.Nerdctl
)

// Engines returns the names of the container engines.
func Engines() []string { return []string{Docker, Podman, Nerdctl} }

// Runtimes returns the values of Options.Runtime.
func Runtimes() []string {
	out := []string{Auto}
	for _, w := range sandbox.AllEngines() {
		out = append(out, string(w))
	}
	return append(out, Engines()...)
}

// loader runs images by one runtime.
type loader interface {
	// Load makes an image available and checks that it can be called. Nothing is started.
	Load(ctx context.Context, a registry.Artifact, c image.Command, g sandbox.Grant) (fnexec.Runner, error)
}

// Tried is a runtime that does not work, and why.
type Tried struct {
	Name string // bwrap, docker, …
	Err  error
}

// NoEngineError reports that nothing on this machine runs images, and what was tried.
type NoEngineError struct {
	Runtime string // Options.Runtime
	Tried   []Tried
}

// Error lists what was tried and why it does not work.
func (e *NoEngineError) Error() string {
	msg := "nothing on this machine runs container images"
	if e.Runtime != Auto {
		msg = "it cannot be run by " + e.Runtime
	}
	var reasons []sandbox.Reason
	for _, l := range e.Tried {
		if e.Runtime == l.Name {
			return msg + ": " + l.Err.Error() // only this one was asked for
		}
		reasons = append(reasons, sandbox.Reason{Name: l.Name, Why: l.Err.Error()})
	}
	if len(reasons) == 0 {
		return msg
	}
	return msg + ": " + sandbox.ListReasons(reasons)
}

// Elsewhere reports that another runtime of the function may work.
func (*NoEngineError) Elsewhere() bool { return true }

// Unwrap returns the error of each.
func (e *NoEngineError) Unwrap() []error {
	var out []error
	for _, l := range e.Tried {
		out = append(out, l.Err)
	}
	return out
}

// Unreachable reports that a single engine was asked for, is installed and does not answer.
func (e *NoEngineError) Unreachable() bool {
	var failed *engine.Error
	return e.Runtime != Auto && errors.As(e, &failed) && failed.Kind == engine.Unreachable
}

// Packages returns the packages of Debian and Ubuntu of which one would be enough, the best first.
// What is installed and does not work is left out.
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

// there reports whether a runtime is installed and does not work.
func (e *NoEngineError) there(name string) bool {
	return slices.ContainsFunc(e.Tried, func(l Tried) bool {
		return l.Name == name && !errors.Is(l.Err, engine.ErrNotInPath) && !errors.As(l.Err, new(*sandbox.NotFoundError))
	})
}

// choice is the runtime that was found to work, once.
type choice struct {
	mu   sync.Mutex
	made bool
	by   loader
	err  *NoEngineError
}

// conceivable checks whether anything is installed that could run an image. It starts nothing, so
// that what is installed may still fail.
func (r *Runtime) conceivable() error {
	if r.alone() {
		return nil
	}
	var tried []Tried
	for _, name := range r.engines() {
		_, err := engine.Find(name, r.engine)
		if err == nil {
			return nil
		}
		tried = append(tried, Tried{name, err})
	}
	tried = append(tried, r.passedOver()...)
	if r.options.Runtime != Auto && len(tried) == 0 {
		tried = []Tried{{r.options.Runtime, errors.New("it works on Linux only")}}
		if !slices.Contains(Runtimes(), r.options.Runtime) {
			tried[0].Err = errors.New("krmcat knows " + strings.Join(Runtimes(), ", "))
		}
	}
	return &NoEngineError{Runtime: r.options.Runtime, Tried: tried}
}

// alone reports whether engines of package sandbox are asked for and could work here.
func (r *Runtime) alone() bool {
	if r.options.Host == nil || runtime.GOOS != "linux" {
		return false
	}
	return r.options.Runtime == Auto || slices.Contains(sandbox.AllEngines(), sandbox.Engine(r.options.Runtime))
}

// engines returns the container engines that may be chosen.
func (r *Runtime) engines() []string {
	if r.options.Runtime == Auto {
		return []string{Docker, Podman} // not nerdctl, which loses output
	}
	return slices.DeleteFunc(Engines(), func(name string) bool { return name != r.options.Runtime })
}

// passedOver returns why Auto does not choose nerdctl. A user has to ask for it.
func (r *Runtime) passedOver() []Tried {
	if r.options.Runtime != Auto {
		return nil
	}
	_, err := engine.Find(Nerdctl, r.engine)
	return []Tried{{Nerdctl, cmp.Or(err, engine.ErrLosesOutput)}}
}

// choose finds what runs images here, once for all images. If ctx ends, the next call tries again.
func (r *Runtime) choose(ctx context.Context, g sandbox.Grant) (loader, error) {
	r.choice.mu.Lock()
	defer r.choice.mu.Unlock()
	if !r.choice.made {
		e, tried := r.look(ctx, g)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		r.choice.by, r.choice.made = e, true
		if e == nil {
			r.choice.err = &NoEngineError{Runtime: r.options.Runtime, Tried: tried}
		}
	}
	if r.choice.err != nil {
		return nil, r.choice.err
	}
	return r.choice.by, nil
}

// look tries the runtimes in order.
func (r *Runtime) look(ctx context.Context, g sandbox.Grant) (loader, []Tried) {
	var tried []Tried
	if r.alone() {
		e, missing := r.daemonless(ctx)
		tried = append(tried, missing...)
		if e != nil {
			r.say(string(e.engine), tried)
			return e, nil
		}
	}
	for _, name := range r.engines() {
		e, err := engine.Find(name, r.engine)
		if err != nil {
			tried = append(tried, Tried{name, err})
			continue
		}
		warning, err := e.Answers(ctx, g)
		if err != nil {
			tried = append(tried, Tried{e.String(), err})
			continue
		}
		r.say(e.String(), tried)
		if warning != "" {
			r.options.Warn(warning)
		}
		return e, nil
	}
	return nil, append(tried, r.passedOver()...)
}

// say reports what was chosen and why.
func (r *Runtime) say(name string, before []Tried) {
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
