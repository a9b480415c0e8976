package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/sandbox/internal/procgroup"
)

// waitDelay is how long our pipes may stay open after a process was killed, or has ended and
// left children behind. Cancelling takes this long if a child has left the process group, and
// cancelling is to take less than a second.
const waitDelay = 500 * time.Millisecond

// ErrNotGranted is returned by a Grant that Allow.Grant did not make.
var ErrNotGranted = errors.New("nothing was granted")

// ErrLeftBehind reports that a function left a process behind that holds its output open. Its
// output may be incomplete.
var ErrLeftBehind = errors.New("it left a process behind that holds its output open")

// Cmd describes a function's process.
type Cmd struct {
	Path string // absolute, or a bare name, which is looked up in the host's PATH
	// Program is started instead of Path, if it is not nil. Temp is a directory for a copy of
	// it, if the system cannot start it from memory; "" for the default directory.
	Program *Program
	Temp    string
	Args    []string
	Dir     string   // working directory, absolute; required, so that it is never krmcat's own
	Env     []string // KEY=VALUE, set by the runtime
	// Root is the absolute path of a directory with the root file system of an image; "" for
	// this machine's file system. With a Root, Path and Dir are paths in it, Env is the whole
	// environment except for what was requested, and the process is always confined.
	Root string
}

// Command prepares an unconfined process: the environment that was granted, and a process
// group of its own that is killed when ctx ends. It refuses a zero Grant and one without
// HostExec. Run is simpler to use.
func (g Grant) Command(ctx context.Context, c Cmd) (*exec.Cmd, error) {
	if g.g == nil {
		return nil, ErrNotGranted
	}
	if !g.g.request.HostExec {
		return nil, fmt.Errorf("starting %s: %w to start a process", c.Path, ErrNotGranted)
	}
	path, err := find(c.Path, g.g.allow.Host)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(c.Dir) {
		return nil, fmt.Errorf("starting %s: the working directory %q is not absolute", c.Path, c.Dir)
	}
	cmd := exec.CommandContext(ctx, path, c.Args...) //nolint:gosec // starting what was granted is what this package is for
	cmd.Dir = c.Dir
	cmd.Env = append(g.Environ(), clean(c.Env)...)
	cmd.WaitDelay = waitDelay
	procgroup.Isolate(cmd)
	return cmd, nil
}

// find makes a path absolute. A bare name is looked up in PATH without its relative entries,
// which would depend on the directory that krmcat runs in.
func find(name string, host []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("program %q is neither an absolute path nor a bare name", name)
	}
	path, _ := lookup(host, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", &NotFoundError{Name: name}
}

// NotFoundError reports that a program is not in PATH.
type NotFoundError struct{ Name string }

// Error names the program.
func (e *NotFoundError) Error() string { return fmt.Sprintf("program %q is not in PATH", e.Name) }

// Streams are the standard streams of a process. A process that does not read its stdin blocks
// nothing.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run starts a function's process and waits for it. It returns an error for an exit code other
// than 0, which ExitCode reads; an *EngineError, *MountError or *UnconfinedError if the function
// was not started; or ErrLeftBehind. The process group is killed when the process or ctx
// ends. On Linux and Windows the process also ends with krmcat, even if krmcat is killed.
func (g Grant) Run(ctx context.Context, c Cmd, s Streams) error {
	if g.g == nil {
		return ErrNotGranted
	}
	defer leave.Of(ctx).Hold()() // until the process and its temporary files are gone
	if ran, err := g.confined(ctx, c, s); ran {
		return err
	}
	var held lent
	if c.Program != nil {
		var err error
		if held, err = c.Program.lend(c.Temp, g.g.allow.On.whole()); err != nil {
			return err
		}
		defer held.remove()
		c.Path = held.path
	}
	for try := 1; ; try++ {
		cmd, err := g.Command(ctx, c)
		if err != nil {
			return err
		}
		held.to(cmd)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
		started, err := process{cmd: cmd, patience: aProcess}.startAndWait(ctx)
		if started {
			return err
		}
		if !procgroup.Busy(err) || try == shim.BusyTries {
			return notStarted(c, cmd.Path, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("starting %s: %w", c.Path, context.Cause(ctx))
		case <-time.After(shim.BusyPause):
		}
	}
}

// notStarted returns why a program was not started.
func notStarted(c Cmd, path string, err error) error {
	if more := explained(job{path: path, program: c.Program}, err); more != err { //nolint:errorlint // the same one, or another
		return more
	}
	return fmt.Errorf("starting %s: %w", c.called(), err)
}

// called returns the name of the program in errors.
func (c Cmd) called() string {
	if c.Program != nil {
		return c.Program.name
	}
	return c.Path
}

// The patience with a process that has ended: how many times waitDelay others may hold its
// streams open without writing, before that is an error.
const (
	// aProcess is for a process whose children may survive it.
	aProcess = 1
	// aNamespace is for processes that an engine ends as a whole: those that still hold a
	// stream are about to end.
	aNamespace = 20
)

// process is a command with the way it is waited for.
type process struct {
	cmd      *exec.Cmd
	patience int        // aProcess or aNamespace
	over     supervisor // nil for none
	// own gets the stderr of the process itself, if its streams are for another process that
	// it starts: they are its last extra files then. nil if the streams are its own.
	own io.Writer
}

// startAndWait runs the process. If started is false, err is an error of starting it.
func (p process) startAndWait(ctx context.Context) (started bool, err error) {
	release := procgroup.Tie(p.cmd)
	defer release()
	streams, err := connect(p.cmd)
	if err != nil {
		return false, err
	}
	if p.own != nil {
		handOn(p.cmd, p.own)
	}
	if err := p.cmd.Start(); err != nil {
		streams.close()
		return false, err
	}
	streams.started()
	return true, p.wait(ctx, streams)
}

// handOn passes the streams of a command as its last extra files.
func handOn(cmd *exec.Cmd, own io.Writer) {
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, _ := stream.(*os.File) // connect made all three files
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, own
}

func (p process) wait(ctx context.Context, streams *pipes) error {
	cmd := p.cmd
	release := procgroup.Adopt(cmd)
	defer release()
	var err error
	if p.over == nil {
		err = cmd.Wait()
	} else {
		p.over.await()
	}
	unread := streams.finish(ctx, p.patience)
	if p.over != nil { // not before: processes that still write end with it
		p.over.dismiss()
		err = cmd.Wait()
	}
	// Children that closed the pipes end too. The group's id is not reused while the group
	// has a process, and otherwise only after all other ids were used.
	procgroup.Kill(cmd)
	if err != nil {
		return howEnded(err)
	}
	return unread
}

// EndedError reports that a process ran and failed.
type EndedError struct {
	Code   int            // its exit code; -1 if a signal ended it
	Signal syscall.Signal // that signal; 0 for none
}

// Error names the exit code or the signal.
func (e *EndedError) Error() string {
	if e.Signal == 0 {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return "it was ended by " + SignalName(e.Signal)
}

// SignalName describes a signal for people: "signal 15 (terminated)".
func SignalName(s syscall.Signal) string {
	number := fmt.Sprintf("signal %d", int(s))
	if name := s.String(); name != number {
		return number + " (" + name + ")"
	}
	return number
}

// howEnded makes an *EndedError of an error of exec.Cmd.Wait.
func howEnded(err error) error {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return err
	}
	ended := &EndedError{Code: e.ExitCode()}
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		ended.Signal = status.Signal()
	}
	return ended
}

// ExitCode returns the exit code of a process that ran and failed, by an error of Run. It is -1
// if a signal ended the process. It returns false for any other error.
func ExitCode(err error) (int, bool) {
	var e *EndedError
	if !errors.As(err, &e) || errors.As(err, new(*EngineError)) { // the latter is not of the function
		return 0, false
	}
	return e.Code, true
}
