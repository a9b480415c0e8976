package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/krmcat/krmcat/internal/leave"
)

// ContainerEngineCmd is a call of a container engine's own program: docker, podman, nerdctl. It is
// not a function: it gets the host's environment and is not confined. What confines the
// function that it runs is what its arguments say.
type ContainerEngineCmd struct {
	Path string   // absolute
	Args []string // all but the program's name
	Env  []string // KEY=VALUE, beside the host's
	// Stop are the arguments of another call of the same program, made when the first was
	// ended from outside: killing an engine's program leaves the container to its daemon.
	Stop []string
}

// stopDeadline bounds the call that stops a container. It is made where somebody waits for
// an answer already.
const stopDeadline = 10 * time.Second

// StopError says that a container could not be stopped after its call was ended: it may
// still be there.
type StopError struct {
	Err  error
	Said string // the engine's words
}

func (e *StopError) Error() string {
	if e.Said != "" {
		return "stopping the container: " + e.Said
	}
	return "stopping the container: " + e.Err.Error()
}

// Unwrap returns what became of the call.
func (e *StopError) Unwrap() error { return e.Err }

// RunContainerEngine calls a container engine's program and waits for it. When ctx ends, the program is
// killed with its process group, and Stop is called. Errors are those of Run, joined with a
// *StopError where that failed. It refuses a zero Grant.
func (g Grant) RunContainerEngine(ctx context.Context, c ContainerEngineCmd, s Streams) error {
	if g.g == nil {
		return ErrNotGranted
	}
	if !filepath.IsAbs(c.Path) {
		return fmt.Errorf("starting %q: it is not an absolute path", c.Path)
	}
	defer leave.Of(ctx).Hold()() // until its container is gone
	started, err := g.runContainerEngine(ctx, c.Path, c.Args, c.Env, s)
	if !started {
		return fmt.Errorf("starting %s: %w", c.Path, err)
	}
	code, exited := ExitCode(err)
	if c.Stop == nil || ctx.Err() == nil && (err == nil || exited && code >= 0) {
		return err
	}
	// The caller's time is up, and this has to be done all the same.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopDeadline)
	defer cancel()
	var said, out bytes.Buffer
	if _, stopErr := g.runContainerEngine(late, c.Path, c.Stop, c.Env, Streams{Stdout: &out, Stderr: &said}); stopErr != nil {
		return errors.Join(err, &StopError{Err: stopErr, Said: strings.TrimSpace(said.String() + out.String())})
	}
	return err
}

// runContainerEngine is one process of an engine's program.
func (g Grant) runContainerEngine(ctx context.Context, path string, args, env []string, s Streams) (started bool, err error) {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the engine that the user chose
	cmd.Dir = filepath.Dir(path)                   // not the target: nothing is to be found there by chance
	cmd.Env = g.containerEngineEnv(env)
	cmd.WaitDelay = waitDelay
	isolate(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	return process{cmd: cmd, patience: aNamespace}.startAndWait(ctx)
}

// containerEngineEnv is the host's environment, without what krmcat tells itself.
func (g Grant) containerEngineEnv(more []string) []string {
	var env []string
	for _, e := range slices.Concat(g.g.allow.Host, more) {
		if name, _, ok := strings.Cut(e, "="); ok && validName(name) && !internalName(name) {
			env = append(env, e)
		}
	}
	return env
}

// FindProgram looks an engine's program up in the PATH of an environment. The error is a
// *NotFoundError, or says why what is there cannot be started.
func FindProgram(name string, environ []string) (string, error) {
	path, err := find(name, environ)
	if err != nil {
		return "", err
	}
	var no *exec.Error
	if _, err := exec.LookPath(path); errors.As(err, &no) { // as it is for a bare name: it may be no program
		return "", fmt.Errorf("program %s cannot be started: %w", path, no.Err)
	}
	return path, nil
}

// ContainerEnv returns what the user and the function asked for, as the -e options of an
// engine take it: the bare name of a variable whose value is the host's, so that no secret
// shows among the arguments of a process, and KEY=VALUE of one that was written out. What
// is written out does not become the engine's own environment, which it could lead astray.
func (g Grant) ContainerEnv() []string {
	asked := g.Asked()
	for i, e := range asked {
		name, value, _ := strings.Cut(e, "=")
		if v, ok := lookup(g.g.allow.Host, name); ok && v == value {
			asked[i] = name
		}
	}
	return asked
}

// ContainerUser returns who a container's process is, as UID:GID or in the user's own
// words, and "" for nobody.
func (g Grant) ContainerUser() string {
	switch {
	case g.g == nil:
		return ""
	case g.g.allow.AsCurrentUser:
		return currentUser()
	}
	return g.g.allow.User
}
