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

// runner runs one image by an engine. It implements fnexec.Runner.
type runner struct {
	engine   *Engine
	call     call
	grant    sandbox.Grant
	platform image.Platform // of the image
}

// Run implements fnexec.Runner. The error is a *fnexec.ExitError of the function, or an *Error
// if it was not started.
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
	if failed.Detail == "" { // an init program may have tried the image's shell instead
		failed.Detail = r.platform.Foreign()
	}
	return failed
}

// explained adds the platform of the image to an error of starting its program. The init
// program's own message may only say that the image has no shell.
func (r *runner) explained(err error) error {
	var failed *Error
	if why := r.platform.Foreign(); why != "" && errors.As(err, &failed) && failed.Kind == NoProgram {
		failed.Msg += ": " + why
	}
	return err
}

// fails reports whether the engine uses an exit code for its own failures.
func (e *Engine) fails(code int) bool {
	if e.name == Nerdctl {
		return code == 1
	}
	return code >= 125 && code <= 127
}

// ran reports whether an exit code is the function's. If the engine cannot tell, its stderr
// decides.
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

// gone reports whether the engine answered that a container no longer exists.
func gone(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "no such container") || strings.Contains(said, "no container with") ||
		strings.Contains(said, "already in progress")
}

// maxHeld is how much of stderr is held back, in bytes.
const maxHeld = 8 << 10

// held holds back the beginning of stderr. If the engine fails, it is the engine's message, which
// belongs in the error and not in the function's stderr.
type held struct {
	to     io.Writer
	mu     sync.Mutex
	buf    bytes.Buffer
	passes bool
	drops  func(line string) bool // reports whether a first line is dropped; nil for none
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

// strip drops first lines.
func (h *held) strip() {
	for h.drops != nil {
		line, _, whole := bytes.Cut(h.buf.Bytes(), []byte("\n"))
		if !whole || !h.drops(string(line)) {
			return
		}
		h.buf.Next(len(line) + 1)
	}
}

// pass writes what is held.
func (h *held) pass() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passes {
		return nil
	}
	return h.release()
}

// text returns the beginning of stderr.
func (h *held) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.passes {
		h.strip()
	}
	return h.buf.String()
}
