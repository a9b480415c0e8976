package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/sandbox"
)

// cliRunner calls one image through an engine. It implements fnexec.Runner.
type cliRunner struct {
	cli   cli
	image string // by digest
	spec  spec
	grant sandbox.Grant
	// platform is the one that the image is for.
	platform imagePlatform
}

// Run implements fnexec.Runner. The error is a *fnexec.ExitError of the function's, or an
// *EngineError where it was not started.
func (r *cliRunner) Run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	name := newName()
	args, err := r.cli.runArgs(r.image, name, r.spec, r.grant)
	if err != nil {
		return err
	}
	held := &held{to: notes}
	if r.cli.name == Nerdctl {
		held.drops = nerdctlRemark
	}
	err = r.grant.Engine(ctx, sandbox.EngineCmd{Path: r.cli.path, Args: args, Stop: r.cli.stopArgs(name)}, sandbox.Streams{In: in, Out: out, Notes: held})
	var stop *sandbox.StopError
	if errors.As(err, &stop) && !gone(stop.Said) {
		r.cli.notify(fmt.Sprintf("%s: the container %s may still run: %v", r.cli.name, name, stop))
	}
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, held.pass())
	}
	code, exited := sandbox.ExitCode(err)
	said := held.text()
	if !exited || code < 0 || r.cli.fails(code) && !r.ran(ctx, name, said) {
		return r.explained(r.cli.failed(err, said))
	}
	if line := unstarted(code, said); line != "" {
		return r.explained(r.cli.failed(err, line))
	}
	if err := held.pass(); err != nil {
		return err
	}
	failed := exitError(code, nil, r.grant)
	if failed.Detail == "" { // a first process may hand what the kernel does not start to the image's shell
		failed.Detail = r.platform.foreign()
	}
	return failed
}

// explained says of a program that does not start here where it would. A first process hands
// it to the image's shell then, and what is told is that there is none.
func (r *cliRunner) explained(err error) error {
	var failed *EngineError
	if why := r.platform.foreign(); why != "" && errors.As(err, &failed) && failed.Kind == NoProgram {
		failed.Msg += ": " + why
	}
	return err
}

// fails tells whether an engine ends with an exit code when it fails itself.
func (c cli) fails(code int) bool {
	if c.name == Nerdctl {
		return code == 1
	}
	return code >= 125 && code <= 127
}

// ran tells whether an exit code is the function's. Where the engine cannot tell, what it
// wrote has to.
func (r *cliRunner) ran(ctx context.Context, name, said string) bool {
	if r.cli.name == Nerdctl {
		return !nerdctlFailed(said)
	}
	started, known := r.cli.started(ctx, r.grant, name)
	if known && started {
		return true
	}
	return !ofEngine(said)
}

// signaled and a signal are what engines give for a process that the signal ended.
const signaled = 128

// exitError is how a function failed. err is the cause where it is known to be the
// function's own: an engine has but the exit code to tell.
func exitError(code int, err error, g sandbox.Grant) *fnexec.ExitError {
	e := &fnexec.ExitError{Code: code, Err: err}
	var ended *sandbox.EndedError
	signal := syscall.Signal(code - signaled)
	switch {
	case errors.As(err, &ended):
		signal = ended.Signal
	case signal > 0 && signal <= lastSignal:
		e.Detail = "as of what is ended by " + sandbox.SignalName(signal)
	}
	if signal == syscall.SIGKILL {
		if e.Detail != "" {
			e.Detail += ", "
		}
		e.Detail += fmt.Sprintf("as happens to what takes more than the %d MiB of memory that it may; where it needs more: --memory", g.Limits().Memory>>20)
	}
	return e
}

// lastSignal is the last that Linux has.
const lastSignal = 64

// gone recognises the answer that a container is not there any more.
func gone(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "no such container") || strings.Contains(said, "no container with") ||
		strings.Contains(said, "already in progress")
}

// maxHeld is how much of stderr is held back until it shows whose it is.
const maxHeld = 8 << 10

// held holds the beginning of stderr back: where an engine fails, it is the engine's words,
// which belong into the error, and not to the function.
type held struct {
	to     io.Writer
	mu     sync.Mutex
	buf    bytes.Buffer
	passes bool
	drops  func(line string) bool // which first lines are of no use to anybody; nil for none
}

func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passes {
		return h.to.Write(p)
	}
	h.buf.Write(p)
	if h.buf.Len() <= maxHeld {
		return len(p), nil
	}
	return len(p), h.release()
}

func (h *held) release() error {
	h.passes = true
	h.strip()
	_, err := h.to.Write(h.buf.Bytes())
	return err
}

// strip drops first lines that are of no use.
func (h *held) strip() {
	for h.drops != nil {
		line, _, whole := bytes.Cut(h.buf.Bytes(), []byte("\n"))
		if !whole || !h.drops(string(line)) {
			return
		}
		h.buf.Next(len(line) + 1)
	}
}

// pass hands on what is held.
func (h *held) pass() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passes {
		return nil
	}
	return h.release()
}

// text is the beginning of what was written.
func (h *held) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.passes {
		h.strip()
	}
	return h.buf.String()
}

// capped keeps the beginning of what is written, and takes all of it.
type capped struct {
	max int
	buf bytes.Buffer
}

func (c *capped) Write(p []byte) (int, error) {
	c.buf.Write(p[:min(len(p), c.max-c.buf.Len())])
	return len(p), nil
}

func (c *capped) String() string { return c.buf.String() }
