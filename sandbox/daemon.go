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
	"github.com/krmcat/krmcat/sandbox/internal/procgroup"
)

// ContainerEngineCmd is a call of a container engine's program: docker, podman or nerdctl. The
// program gets the host's environment and is not confined. Its arguments tell it how to
// confine the container.
type ContainerEngineCmd struct {
	Path string   // absolute
	Args []string // without the program's name
	Env  []string // KEY=VALUE, in addition to the host's
	// Stop holds the arguments of a second call, made if the first one was killed: its
	// container may go on without it.
	Stop []string
}

// stopDeadline bounds the call that stops a container. The user waits for it.
const stopDeadline = 10 * time.Second

// StopError reports that a container could not be stopped after its call was killed. It may
// still run.
type StopError struct {
	Err  error
	Said string // what the container engine wrote
}

// Error says why stopping failed.
func (e *StopError) Error() string {
	if e.Said != "" {
		return "stopping the container: " + e.Said
	}
	return "stopping the container: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Err }

// RunContainerEngine calls a container engine's program and waits for it. When ctx ends, it kills
// the program's process group and calls it with Stop. The error is ErrNotGranted for a zero
// Grant, one of starting the program, an *EndedError or ErrLeftBehind, joined with a *StopError
// if Stop failed.
func (g Grant) RunContainerEngine(ctx context.Context, c ContainerEngineCmd, s Streams) error {
	if g.g == nil {
		return ErrNotGranted
	}
	if !filepath.IsAbs(c.Path) {
		return fmt.Errorf("starting %q: it is not an absolute path", c.Path)
	}
	defer leave.Of(ctx).Hold()() // until the container is gone
	started, err := g.runContainerEngine(ctx, c.Path, c.Args, c.Env, s)
	if !started {
		return fmt.Errorf("starting %s: %w", c.Path, err)
	}
	code, exited := ExitCode(err)
	if c.Stop == nil || ctx.Err() == nil && (err == nil || exited && code >= 0) {
		return err
	}
	// ctx may have ended, but the container must be stopped.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopDeadline)
	defer cancel()
	var said, out bytes.Buffer
	if _, stopErr := g.runContainerEngine(late, c.Path, c.Stop, c.Env, Streams{Stdout: &out, Stderr: &said}); stopErr != nil {
		return errors.Join(err, &StopError{Err: stopErr, Said: strings.TrimSpace(said.String() + out.String())})
	}
	return err
}

// runContainerEngine runs one process of a container engine's program.
func (g Grant) runContainerEngine(ctx context.Context, path string, args, env []string, s Streams) (started bool, err error) {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the engine that the user chose
	cmd.Dir = filepath.Dir(path)                   // not the target, whose files it might read
	cmd.Env = g.containerEngineEnv(env)
	cmd.WaitDelay = waitDelay
	procgroup.Isolate(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	return process{cmd: cmd, patience: aNamespace}.startAndWait(ctx)
}

// containerEngineEnv returns the host's environment without the variables for krmcat itself.
func (g Grant) containerEngineEnv(more []string) []string {
	var env []string
	for _, e := range slices.Concat(g.g.allow.Host, more) {
		if name, _, ok := strings.Cut(e, "="); ok && validName(name) && !internalName(name) {
			env = append(env, e)
		}
	}
	return env
}

// FindProgram looks up a program in the PATH of an environment, which is given as KEY=VALUE. The
// error is a *NotFoundError, or says why the program cannot be started.
func FindProgram(name string, environ []string) (string, error) {
	path, err := find(name, environ)
	if err != nil {
		return "", err
	}
	var no *exec.Error
	if _, err := exec.LookPath(path); errors.As(err, &no) { // an absolute path may not be executable
		return "", fmt.Errorf("program %s cannot be started: %w", path, no.Err)
	}
	return path, nil
}

// ContainerEnv returns the requested variables as the -e options of a container engine. A
// variable with the host's value is its bare name, so that no secret is visible among the
// arguments of a process. Any other is KEY=VALUE, so that it does not change the environment
// of the engine's program.
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

// ContainerUser returns the user of a container's process, as UID:GID or as the user wrote it; ""
// for nobody.
func (g Grant) ContainerUser() string {
	switch {
	case g.g == nil:
		return ""
	case g.g.allow.AsCurrentUser:
		return currentUser()
	}
	return g.g.allow.User
}
