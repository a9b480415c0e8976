package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
)

// ociEngine confines with runc or crun. Neither takes its container along when it is
// killed. So they run as the first process of a pid namespace, with which all ends that
// was started in it.
//
// The container of root has a user namespace in which it is root, without any rights
// outside, and in which the job is another user. Anybody else's runtime runs in a user
// namespace as its only user, and so does the job: as uid 0 without any rights.
type ociEngine struct {
	way     Way
	program string
	self    string             // krmcat, to try the engine with
	stages  func() *program    // what stages are started from
	temp    string             // where bundles are made
	seccomp func() *ociSeccomp // of every container
	once    func() error       // looks at the runtime, and sweeps
}

func newOCI(way Way, program string, o HostOptions) engine {
	e := &ociEngine{way: way, program: program, self: o.Self, stages: o.program, temp: tempDir(o.Environ), seccomp: ociProfile}
	e.once = sync.OnceValue(func() error {
		sweep(e.temp)
		return e.current()
	})
	return e
}

// tempDir is where temporary files go.
func tempDir(environ []string) string {
	if dir, ok := lookup(environ, "TMPDIR"); ok && filepath.IsAbs(dir) {
		return dir
	}
	return "/tmp"
}

func (e *ociEngine) fail(format string, a ...any) error {
	return &EngineError{Way: e.way, Err: fmt.Errorf(format, a...)}
}

var ociVersion = regexp.MustCompile(`^(?:runc|crun) version v?(\d+)\.(\d+)`)

// versionWait is how long a runtime may take to say which version it is.
const versionWait = 30 * time.Second

// current refuses a runtime that does not know mount options which count for all that is
// mounted below: it would ignore them in silence. runc has them since 1.1, crun since 1.4.
func (e *ociEngine) current() error {
	ctx, cancel := context.WithTimeout(context.Background(), versionWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.program, "--version") //nolint:gosec // the user's own program
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{}, "/", waitDelay
	out, err := cmd.Output()
	if err != nil {
		return e.fail("%s --version: %w", e.program, err)
	}
	m := ociVersion.FindSubmatch(out)
	if m == nil {
		return e.fail("%s --version does not say which version it is", e.program)
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	need := map[Way]int{Runc: 1, Crun: 4}[e.way]
	if major < 1 || major == 1 && minor < need {
		return e.fail("version %s.%s is too old: 1.%d is needed to mount parts of this machine wholly read-only", m[1], m[2], need)
	}
	return nil
}

// prepare implements engine.
func (e *ociEngine) prepare(ctx context.Context, j job) (*prepared, error) {
	if err := e.once(); err != nil {
		return nil, err
	}
	b, err := newBundle(e.way, e.temp)
	if err != nil {
		return nil, e.fail("making a directory for the container: %w", err)
	}
	cmd, err := e.command(ctx, b, j)
	if err != nil {
		return nil, errors.Join(&EngineError{Way: e.way, Err: err}, b.remove())
	}
	return &prepared{cmd: cmd, settle: func(err error) error {
		err = e.outcome(b, cmd, j, err)
		return errors.Join(err, b.remove())
	}}, nil
}

// loaders shows what starts a program that was not linked into one, as krmcat is where it
// was built by a go command that found a C compiler.
func loaders() []op {
	var out []op
	for _, dir := range []string{"/lib", "/lib64"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, op{kind: opBind, src: real, dst: dir})
		}
	}
	return out
}

// command writes the bundle, and makes the process that runs it.
func (e *ociEngine) command(ctx context.Context, b *bundle, j job) (*exec.Cmd, error) {
	var nothing []op
	if j.path == "" { // to try the engine
		j.path, j.args, j.env = shim.Name, []string{shim.NothingStage}, []string{"PATH=/"}
		nothing = append(loaders(), op{kind: opBind, src: e.self, dst: "/" + shim.Name})
	}
	s := newSpec(j)
	s.Linux.Seccomp = e.seccomp()
	m := mapUsers(j)
	limited := e.limits(m)
	d := j.denied(limited)
	s.Linux.Seccomp.deny(d.names, d.calls)
	if m.change {
		s.Process.User.UID, s.Process.User.GID = j.uid, j.gid
		s.Linux.UIDMappings, s.Linux.GIDMappings = ociMappings(m.uids), ociMappings(m.gids)
		s.Linux.Namespaces = append(s.Linux.Namespaces, ociNamespace{"user"})
	}
	if limited {
		s.Linux.Resources = &ociResources{Memory: &ociLimit{j.limits.Memory}, Pids: &ociLimit{int64(j.limits.Processes)}}
	}
	if err := b.show(&s, append(nothing, j.view...)); err != nil {
		return nil, err
	}
	if err := b.write(s); err != nil {
		return nil, err
	}
	args := []string{shim.HostStage, b.file(bundleShim)}
	if e.way == Crun {
		args = append(args, shim.HideGroups)
	}
	if e.way == Crun && m.change {
		args = append(args, shim.OwnStreams)
	}
	args = append(append(args, "--", e.program), e.arguments(b, limited)...)
	cmd := stageCommand(ctx, e.stages(), args...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Dir = b.dir
	cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if !m.change {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, nil
}

// limits tells whether a control group counts what a job uses: crun makes none.
func (e *ociEngine) limits(m mapping) bool { return e.way == Runc && m.change && cgroupsWork() }

// arguments are the runtime's, from argv[0].
func (e *ociEngine) arguments(b *bundle, limited bool) []string {
	args := []string{string(e.way), "--root", b.file(bundleState), "--log", b.file(bundleLog), "--log-format", "json"}
	if e.way == Crun {
		args = append(args, "--cgroup-manager=disabled")
	} else {
		// Without rights to control groups it goes without them.
		args = append(args, "--rootless", strconv.FormatBool(!limited))
	}
	return append(args, "run", "--no-new-keyring", "--bundle", b.dir, "--pid-file", b.file(bundlePid), b.id())
}

func ociMappings(ids []syscall.SysProcIDMap) []ociMapping {
	var out []ociMapping
	for _, m := range ids {
		out = append(out, ociMapping(m))
	}
	return out
}
