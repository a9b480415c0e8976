package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/krmcat/krmcat/internal/leave"
)

// HostOptions describe this machine.
type HostOptions struct {
	// Environ is this process's environment, as KEY=VALUE. Engines get it. It also says where
	// the user's secrets are.
	Environ []string
	// Self is the absolute path of krmcat. It is started as the stage inside the sandbox if
	// this build carries no small stage program.
	Self string
	// Whole starts Self as the stage in any case: some security software takes a program
	// without a directory entry, as the small stage is, for an attack.
	Whole bool
	// Engines are the engines to try, in order; nil for AllEngines.
	Engines []Engine
	// CacheDir is the cache in which krmcat records that the first engine works; "" for none.
	CacheDir string

	// group makes a control group for a job; nil if that is not possible.
	group func(Limits) *group
	// program is the program that is started as the stage.
	program func() *program
	// landlock is the version of Landlock to use. The kernel's may be newer.
	landlock int
}

// whole reports whether no program may be started from memory.
func (h *Host) whole() bool { return h != nil && h.options.Whole }

// AllEngines lists the engines, in the order in which they are tried.
func AllEngines() []Engine { return []Engine{Native, Bubblewrap} }

// Host is this machine, as far as confining processes goes. Its first use finds out what works
// here, once. It is safe for concurrent use.
type Host struct {
	options HostOptions
	turn    chan struct{} // guards the fields below; a context can end the wait for it

	tried   bool
	relied  bool // found was not tried: a record says that it works
	found   confiner
	engine  Engine
	missing []Missing
	stages  func() *program // the program of stages under Landlock

	secrets func() []string // paths that are hidden from functions
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
	h.secrets = sync.OnceValue(h.findSecrets) // they do not change while functions run
	return h
}

// Engine returns the first engine that works here, and the engines before it with the reason
// why they do not. The error is an *UnconfinedError, or ctx's.
func (h *Host) Engine(ctx context.Context) (Engine, []Missing, error) {
	_, err := h.confiner(ctx)
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	return h.engine, h.missing, err
}

// confiner returns the first engine that works here.
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

// tryWait is longer than any trial takes that succeeds.
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

// find tries the engines in order. It fails only if ctx ends.
func (h *Host) find(ctx context.Context) error {
	h.missing = nil
	for i, w := range h.options.Engines {
		if i == 0 {
			if e, ok := h.recorded(w); ok {
				h.found, h.engine, h.relied = e, w, true
				return nil
			}
		}
		e, again, err := h.tryEngine(ctx, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			if h.found, h.engine = e, w; i == 0 && !again {
				h.keep(w)
			}
			return nil
		}
		h.missing = append(h.missing, Missing{w, err})
	}
	h.missing = oneReason(h.missing)
	// Landlock is the fallback. It is not tried.
	h.stages = h.options.program
	if o, ok := h.options.whole(); ok && !h.stages().runs(ctx) {
		h.stages = o.program
	}
	return context.Cause(ctx)
}

// tryEngine makes an engine and tries it. If it does not work with the small stage program, it
// is tried again with krmcat as the stage: a policy of this machine may forbid the former.
func (h *Host) tryEngine(ctx context.Context, w Engine) (e confiner, again bool, err error) {
	if e, err = newConfiner(w, h.options); err != nil {
		return nil, false, err
	}
	if err = tryFor(ctx, e); err == nil || ctx.Err() != nil || errors.Is(err, errHangs) {
		return e, false, err
	}
	o, ok := h.options.whole()
	if !ok {
		return nil, false, err
	}
	e, second := newConfiner(w, o)
	if second == nil {
		second = tryFor(ctx, e)
	}
	if second != nil {
		return nil, true, err
	}
	return e, true, nil
}
