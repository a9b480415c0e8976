package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/krmcat/krmcat/internal/leave"
)

// HostOptions say what is known of this machine.
type HostOptions struct {
	// Environ is this process's environment, as KEY=VALUE: engines get it, and it tells
	// where the user's secrets are.
	Environ []string
	// Self is the absolute path of this program, which is started again inside, where this
	// build has no smaller one for that.
	Self string
	// Whole has Self started inside even so: a program that lies in no directory, as the
	// smaller one does, looks to some guards like an attack.
	Whole bool
	// Engines are the engines to try, in order; nil for all, AllEngines.
	Engines []Engine

	// group makes a control group for a job, nil where that cannot be done.
	group func(Limits) *group
	// program is what is started inside.
	program func() *program
	// landlock is the version of Landlock to go by, which the kernel may be past.
	landlock int
}

// whole reports whether no program is to be started out of memory.
func (h *Host) whole() bool { return h != nil && h.options.Whole }

// AllEngines lists the engines, in the order in which they are tried.
func AllEngines() []Engine { return []Engine{Native, Bubblewrap} }

// Host is this machine, as far as confining processes goes. It finds out once what works
// here, when it is first asked. It is safe for concurrent use.
type Host struct {
	options HostOptions
	turn    chan struct{} // held by who finds out, and by who looks at what was found out

	tried   bool
	found   confiner
	engine  Engine
	missing []Missing
	stages  func() *program // of Landlock

	secrets func() []string // what is hidden of it
}

// NewHost describes this machine. Nothing is tried yet.
func NewHost(o HostOptions) *Host {
	if o.Engines == nil {
		o.Engines = AllEngines()
	}
	parents := sync.OnceValue(findGroups)
	o.group = func(l Limits) *group {
		g, err := newGroup(parents(), l)
		if err != nil {
			return nil
		}
		return g
	}
	o.program = sync.OnceValue(func() *program {
		if o.Whole {
			return openProgram(o.Self)
		}
		return findProgram(o.Self)
	})
	o.landlock = landlockVersion()
	h := &Host{options: o, turn: make(chan struct{}, 1)}
	h.secrets = sync.OnceValue(h.findSecrets) // what is there does not change while functions run
	return h
}

// Engine returns the first engine that works here. The ways before it are listed
// with what is wrong with them. The error is an *UnconfinedError, or ctx's.
func (h *Host) Engine(ctx context.Context) (Engine, []Missing, error) {
	_, err := h.confiner(ctx)
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	return h.engine, h.missing, err
}

// confiner is that of the first engine that works here.
func (h *Host) confiner(ctx context.Context) (confiner, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !h.tried {
		if err := h.find(ctx); err != nil {
			return nil, err
		}
		h.tried = true
	}
	if h.found == nil {
		return nil, &UnconfinedError{h.missing}
	}
	return h.found, nil
}

// tryWait is longer than anything takes that works.
const tryWait = 10 * time.Second

var errHangs = errors.New("it hangs")

func tryFor(ctx context.Context, e confiner) error {
	defer leave.Of(ctx).Hold()()
	ctx, cancel := context.WithTimeoutCause(ctx, tryWait, errHangs)
	defer cancel()
	err := try(ctx, e)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// find tries one way after the other. It fails only where ctx ends.
func (h *Host) find(ctx context.Context) error {
	h.missing = nil
	for _, w := range h.options.Engines {
		e, err := h.tryEngine(ctx, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			h.found, h.engine = e, w
			return nil
		}
		h.missing = append(h.missing, Missing{w, err})
	}
	h.missing = oneReason(h.missing)
	// Landlock is what is left, and is not tried.
	h.stages = h.options.program
	if o, ok := h.options.whole(); ok && !h.stages().runs(ctx) {
		h.stages = o.program
	}
	return context.Cause(ctx)
}

// tryEngine makes the engine of a way and tries it: once more with krmcat for its stages where
// it does not work with the small program, which some policy of this machine may not like.
func (h *Host) tryEngine(ctx context.Context, w Engine) (confiner, error) {
	e, err := newConfiner(w, h.options)
	if err != nil {
		return nil, err
	}
	if err = tryFor(ctx, e); err == nil || ctx.Err() != nil || errors.Is(err, errHangs) {
		return e, err
	}
	o, ok := h.options.whole()
	if !ok {
		return nil, err
	}
	again, second := newConfiner(w, o)
	if second == nil {
		second = tryFor(ctx, again)
	}
	if second != nil {
		return nil, err
	}
	return again, nil
}
