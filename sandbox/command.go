package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

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
	Args []string
	Dir  string   // working directory; required, so that it is never ours by accident
	Env  []string // KEY=VALUE, set by the runtime itself
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
	In         io.Reader
	Out, Notes io.Writer
}

// Run starts a function's process and waits for it. An exit code other than 0 is an
// error that ExitCode recognises. When ctx ends, and when the process has, the whole
// process group is killed. On Linux and Windows the process also ends with ours, however
// ours ends.
func (g Grant) Run(ctx context.Context, c Cmd, s Streams) error {
	if g.g == nil {
		return ErrNotGranted
	}
	if ran, err := g.confined(ctx, c, s); ran {
		return err
	}
	for try := 1; ; try++ {
		cmd, err := g.Command(ctx, c)
		if err != nil {
			return err
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Notes
		started, err := startAndWait(cmd)
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
	if more := explained(nil, path, err); more != err { //nolint:errorlint // the same one, or another
		return more
	}
	return fmt.Errorf("starting %s: %w", c.Path, err)
}

// startAndWait tells an error of a process that ran from one of starting it.
func startAndWait(cmd *exec.Cmd) (started bool, err error) {
	release := tie(cmd)
	defer release()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	return true, wait(cmd)
}

func wait(cmd *exec.Cmd) error {
	release := adopt(cmd)
	defer release()
	err := cmd.Wait()
	// However it ended, what it started ends with it, even what has closed our pipes. While
	// one of the group lives, its number is not given to another; where none does, it could
	// only be after all others were.
	killGroup(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		return ErrLeftBehind
	}
	return err
}

// ExitCode returns the exit code in an error of Run or of a Command: of a process that
// ran and ended with other than 0. It is -1 for one that was killed by a signal.
func ExitCode(err error) (int, bool) {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.ExitCode(), true
}
