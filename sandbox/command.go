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
)

// waitDelay is how long a process that was killed, or that has ended and left others
// behind, may keep our pipes open. It is what cancelling takes where a child has left the
// process group, so that it has to be short of a second.
const waitDelay = 500 * time.Millisecond

// ErrNotGranted is returned by a Grant that Allow.Grant did not make.
var ErrNotGranted = errors.New("nothing was granted")

// ErrLeftBehind says that a function ended but left a process behind which holds its
// output open: what it wrote may be incomplete.
var ErrLeftBehind = errors.New("it left a process behind that holds its output open")

// Cmd is a function's process: what the runtime decides about it.
type Cmd struct {
	Path string // absolute, or a bare name, which is looked up in the host's PATH
	// Program is what is started instead of Path, and Temp is where there is room for a copy
	// of it, where the system cannot start it as it is held; the system's where empty.
	Program *Program
	Temp    string
	Args    []string
	Dir     string   // working directory; required, so that it is never ours by accident
	Env     []string // KEY=VALUE, set by the runtime itself
	// Root is the absolute path of a directory that holds the root file system of an
	// image. Path and Dir are then places in it, and Env is all of the environment but
	// what was asked for. It is always confined. "" for this machine's own file system.
	Root string
}

// Command prepares a function's process: the environment that was granted and no more,
// a process group of its own, killed as a whole when ctx ends. It refuses a zero Grant
// and one that is not for a process. Run is the simpler way to use it.
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
	isolate(cmd)
	return cmd, nil
}

// find makes a path absolute. A bare name is looked up in PATH, of which relative
// entries are ignored: they would mean whatever directory happens to be rendered.
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

// NotFoundError says that a program is nowhere in PATH.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("program %q is not in PATH", e.Name) }

// Streams are the three standard streams of a process. A process that does not read In
// blocks nobody.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run starts a function's process and waits for it. An exit code other than 0 is an
// error that ExitCode recognises. When ctx ends, and when the process has, the whole
// process group is killed. On Linux and Windows the process also ends with ours, however
// ours ends.
func (g Grant) Run(ctx context.Context, c Cmd, s Streams) error {
	if g.g == nil {
		return ErrNotGranted
	}
	defer leave.Of(ctx).Hold()() // until it is gone, and what was made for it
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
		if !busy(err) || try == shim.BusyTries {
			return notStarted(c, cmd.Path, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("starting %s: %w", c.Path, context.Cause(ctx))
		case <-time.After(shim.BusyPause):
		}
	}
}

// notStarted says what kept a program from being started.
func notStarted(c Cmd, path string, err error) error {
	if more := explained(job{path: path, program: c.Program}, err); more != err { //nolint:errorlint // the same one, or another
		return more
	}
	return fmt.Errorf("starting %s: %w", c.called(), err)
}

// called is what a program is called in errors.
func (c Cmd) called() string {
	if c.Program != nil {
		return c.Program.name
	}
	return c.Path
}

// How many times waitDelay somebody may hold the streams of a process that has ended, and
// write nothing, until that is an error.
const (
	// aProcess is of one whose children may live on.
	aProcess = 1
	// aNamespace is of what an engine ends as a whole: only what is about to be gone holds a
	// stream.
	aNamespace = 20
)

// process is what is started and waited for.
type process struct {
	cmd      *exec.Cmd
	patience int      // one of the constants
	over     overseer // nil for none
	// own takes what the process itself has to say, where the streams are for another that it
	// starts: then they are its last files. nil where they are its own.
	own io.Writer
}

// startAndWait tells an error of a process that ran from one of starting it.
func (p process) startAndWait(ctx context.Context) (started bool, err error) {
	release := tie(p.cmd)
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

// handOn makes the streams of a process its last files.
func handOn(cmd *exec.Cmd, own io.Writer) {
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, _ := stream.(*os.File) // connect has seen to that
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, own
}

func (p process) wait(ctx context.Context, streams *pipes) error {
	cmd := p.cmd
	release := adopt(cmd)
	defer release()
	var err error
	if p.over == nil {
		err = cmd.Wait()
	} else {
		p.over.await()
	}
	unread := streams.finish(ctx, p.patience)
	if p.over != nil { // not before: with it ends who was still to write
		p.over.dismiss()
		err = cmd.Wait()
	}
	// However it ended, what it started ends with it, even what has closed our pipes. While
	// one of the group lives, its number is not given to another; where none does, it could
	// only be after all others were.
	killGroup(cmd)
	if err != nil {
		return howEnded(err)
	}
	return unread
}

// EndedError says that a process ran and did not end well.
type EndedError struct {
	Code   int            // its exit code, -1 where a signal ended it
	Signal syscall.Signal // that signal, 0 for none
}

func (e *EndedError) Error() string {
	if e.Signal == 0 {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return "it was ended by " + SignalName(e.Signal)
}

// SignalName is a signal for people: "signal 15 (terminated)".
func SignalName(s syscall.Signal) string {
	number := fmt.Sprintf("signal %d", int(s))
	if name := s.String(); name != number {
		return number + " (" + name + ")"
	}
	return number
}

// howEnded has an error of waiting for a process say how that ended.
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

// ExitCode returns the exit code in an error of Run: of a process that ran and ended with
// other than 0. It is -1 for one that was ended by a signal.
func ExitCode(err error) (int, bool) {
	var e *EndedError
	if !errors.As(err, &e) || errors.As(err, new(*EngineError)) { // which ended before it was the function
		return 0, false
	}
	return e.Code, true
}
