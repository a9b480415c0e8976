package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/sandbox"
)

// runner calls one image through an engine. It implements fnexec.Runner.
type runner struct {
	engine   *Engine
	call     call
	grant    sandbox.Grant
	platform image.Platform // that the image is for
}

// Run implements fnexec.Runner. The error is a *fnexec.ExitError of the function's, or an
// *Error where it was not started.
func (r *runner) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	name := newName()
	args, err := r.engine.runArgs(r.call, name, r.grant)
	if err != nil {
		return err
	}
	held := &held{to: stderr}
	if r.engine.name == Nerdctl {
		held.drops = nerdctlRemark
	}
	err = r.grant.RunContainerEngine(ctx, sandbox.ContainerEngineCmd{Path: r.engine.path, Args: args, Stop: r.engine.stopArgs(name)}, sandbox.Streams{Stdin: in, Stdout: out, Stderr: held})
	var stop *sandbox.StopError
	if errors.As(err, &stop) && !gone(stop.Said) {
		r.engine.options.Notify(fmt.Sprintf("%s: the container %s may still run: %v", r.engine.name, name, stop))
	}
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, held.pass())
	}
	code, exited := sandbox.ExitCode(err)
	said := held.text()
	if !exited || code < 0 || r.engine.fails(code) && !r.ran(ctx, name, said) {
		return r.explained(r.engine.failed(err, said))
	}
	if line := unstarted(code, said); line != "" {
		return r.explained(r.engine.failed(err, line))
	}
	if err := held.pass(); err != nil {
		return err
	}
	failed := fnexec.NewExitError(code, nil, r.grant)
	if failed.Detail == "" { // a first process may hand what the kernel does not start to the image's shell
		failed.Detail = r.platform.Foreign()
	}
	return failed
}

// explained says of a program that does not start here where it would. A first process hands
// it to the image's shell then, and what is told is that there is none.
func (r *runner) explained(err error) error {
	var failed *Error
	if why := r.platform.Foreign(); why != "" && errors.As(err, &failed) && failed.Kind == NoProgram {
		failed.Msg += ": " + why
	}
	return err
}

// fails reports whether an engine ends with an exit code when it fails itself.
func (e *Engine) fails(code int) bool {
	if e.name == Nerdctl {
		return code == 1
	}
	return code >= 125 && code <= 127
}

// ran reports whether an exit code is the function's. Where the engine cannot tell, what it
// wrote has to.
func (r *runner) ran(ctx context.Context, name, said string) bool {
	if r.engine.name == Nerdctl {
		return !nerdctlFailed(said)
	}
	started, known := r.engine.started(ctx, r.grant, name)
	if known && started {
		return true
	}
	return !ofEngine(said)
}

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
