package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
)

// newEngine makes the engine of a way, or says what is missing.
func newEngine(w Way, o HostOptions) (engine, error) {
	if w == Native {
		return native{o}, nil
	}
	program, err := find(string(w), o.Environ)
	if err != nil {
		return nil, err
	}
	if w == Bubblewrap {
		return bubblewrap{program, o}, nil
	}
	return newOCI(w, program, o), nil
}

// stage is krmcat's own process inside, which becomes the job: package shim.
type stage struct {
	way          Way
	spec, status *os.File // our ends
	theirs       *os.File
	group        *group // nil for none
}

// newStage writes down what the process inside has to do. The command gets the files that
// it reads from, reports to, and joins its group by.
func newStage(w Way, cmd *exec.Cmd, s shim.Spec, g *group) (_ *stage, err error) {
	st := &stage{way: w, group: g}
	var procs []*os.File
	if g != nil {
		procs = g.procs
	}
	for i := range procs {
		s.Groups = append(s.Groups, shim.StatusFD+1+i)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	if st.spec, err = memory(data); err != nil {
		return nil, errors.Join(err, st.close())
	}
	if st.status, st.theirs, err = os.Pipe(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	cmd.ExtraFiles = append([]*os.File{st.spec, st.theirs}, procs...) // shim.SpecFD and shim.StatusFD
	return st, nil
}

// memory is a file that holds data and is nowhere. A pipe would have to be fed.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("krmcat", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := f.WriteAt(data, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *stage) close() error {
	var errs []error
	for _, f := range []*os.File{s.spec, s.status, s.theirs} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	s.group.close()
	return errors.Join(errs...)
}

// maxStatus is more than a stage has to say, in bytes, and statusWait longer than it may
// take to say it once its process has ended.
const (
	maxStatus  = 4 << 10
	statusWait = time.Second
)

// settle is prepared.settle: it tells an engine that failed from a job that did.
func (s *stage) settle(err error) error {
	_ = s.theirs.Close()
	s.theirs = nil
	_ = s.status.SetReadDeadline(time.Now().Add(statusWait)) // who was left behind may hold it
	said, _ := io.ReadAll(io.LimitReader(s.status, maxStatus))
	starved := s.group != nil && s.group.starved()
	_ = s.close()
	if starved {
		err = &StarvedError{err}
	}
	rest, ready := strings.CutPrefix(string(said), shim.Ready)
	switch {
	case ready && rest == "":
		return err
	case rest != "":
		return &EngineError{Way: s.way, Err: stageError(rest)}
	case err == nil:
		return &EngineError{Way: s.way, Err: errors.New("it ended before the function was started")}
	}
	return &EngineError{Way: s.way, Err: err}
}

// systemError is what the system refused, in words that say where.
type systemError struct {
	text string
	err  syscall.Errno
}

func (e *systemError) Error() string { return e.text }

// Unwrap returns the system's error.
func (e *systemError) Unwrap() error { return e.err }

// stageError reads what a stage wrote.
func stageError(said string) error {
	text, number, _ := strings.Cut(said, shim.ErrnoMark)
	if n, err := strconv.ParseUint(number, 10, 12); err == nil && n > 0 {
		return &systemError{text, syscall.Errno(n)}
	}
	return errors.New(text)
}

// denied is what is refused to one job, beside what is to all.
type denied struct {
	names []string
	calls []deniedCall
}

// denied says what that is. grouped is whether a control group counts its memory.
func (j job) denied(grouped bool) denied {
	var d denied
	if j.unnamed {
		d.calls = append(d.calls, deniedSocket(unix.AF_UNIX))
	}
	if !grouped {
		names, calls := sharedMemory()
		d.names, d.calls = append(d.names, names...), append(d.calls, calls...)
	}
	return d
}

// spec is what the stage has to do for a job, but for what an engine did already.
func (j job) spec(g *group) (shim.Spec, error) {
	filter, err := seccomp(j.denied(g != nil))
	return shim.Spec{
		UID: j.uid, GID: j.gid,
		Memory: j.limits.Memory, Processes: j.limits.Processes,
		Seccomp: filter,
		Path:    j.path, Args: append([]string{j.path}, j.args...), Env: j.env, Dir: j.dir,
	}, err
}

// mapping is which users a user namespace knows, and as whom its first process works.
type mapping struct {
	uids, gids []syscall.SysProcIDMap
	groups     bool // groups may be set in it
	change     bool // the first process is its root, and has to become the job's user
	root       bool // the job is its root, and root of this machine: without rights, but with root's files
}

// mapUsers maps the job's user. Root gets a namespace in which it is root, and can so
// reach what it is to show, and in which the job is another: limits on processes do not
// hold for root, and files of root's are not to be read. Anybody else is the only user
// there is; so is root where the job has to be, or where there is no other.
func mapUsers(j job) mapping {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 && (j.uid == 0 || !known("/proc/self/uid_map", j.uid) || !known("/proc/self/gid_map", j.gid)) {
		only := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
		return mapping{uids: only, gids: only, groups: groupsChange(), root: true}
	}
	if uid != 0 {
		return mapping{
			uids: []syscall.SysProcIDMap{{ContainerID: j.uid, HostID: uid, Size: 1}},
			gids: []syscall.SysProcIDMap{{ContainerID: j.gid, HostID: gid, Size: 1}},
		}
	}
	m := mapping{groups: groupsChange(), change: true,
		uids: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: j.uid, HostID: j.uid, Size: 1}},
		gids: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
	}
	if j.gid != 0 {
		m.gids = append(m.gids, syscall.SysProcIDMap{ContainerID: j.gid, HostID: j.gid, Size: 1})
	}
	return m
}

// groupsChange tells whether groups may be set in this process's user namespace. Where not,
// namespaces below it may not either, and saying otherwise is refused.
func groupsChange() bool {
	data, err := os.ReadFile("/proc/self/setgroups")
	return err != nil || strings.HasPrefix(string(data), "allow")
}

// known tells whether this process's own user namespace has an id, which others cannot be
// mapped to.
func known(file string, id int) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		var first, below, count int64
		if n, _ := fmt.Sscan(line, &first, &below, &count); n == 3 && int64(id) >= first && int64(id)-first < count {
			return true
		}
	}
	return false
}

// command makes a process in a session of its own, of which a group is part that is
// killed as a whole.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // starting what was granted is what this package is for
	isolate(cmd)
	cmd.SysProcAttr.Setpgid = false
	cmd.SysProcAttr.Setsid = true                  // no terminal can be typed into
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off"} // a stage lives for a millisecond: no threads for what never comes
	cmd.Dir = "/"
	cmd.WaitDelay = waitDelay
	return cmd
}

// native confines with namespaces of krmcat's own making.
type native struct{ options HostOptions }

func (n native) prepare(ctx context.Context, j job) (*prepared, error) {
	g := n.options.group(j.limits)
	s, err := j.spec(g)
	if err != nil {
		g.close()
		return nil, &EngineError{Way: Native, Err: err}
	}
	m := mapUsers(j)
	s.IDs, s.Loopback, s.Ops, s.LockProc = m.change, !j.network, opsFor(j.view), m.root
	cmd := command(ctx, n.options.Self, shim.ConfineStage)
	cmd.Args[0] = shim.Name
	a := cmd.SysProcAttr
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if !j.network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = m.uids, m.gids, m.groups
	// Who is not root in the namespace keeps its rights in it only through these.
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_DAC_OVERRIDE}
	st, err := newStage(Native, cmd, s, g)
	if err != nil {
		return nil, &EngineError{Way: Native, Err: err}
	}
	return &prepared{cmd: cmd, settle: st.settle}, nil
}

func opsFor(view []op) []shim.Op {
	kinds := map[opKind]string{
		opDir: shim.Dir, opTmpfs: shim.Tmpfs, opBind: shim.Bind, opSymlink: shim.Symlink,
		opEmpty: shim.Empty, opProc: shim.Proc, opDev: shim.Dev,
	}
	out := []shim.Op{}
	for _, o := range view {
		out = append(out, shim.Op{Kind: kinds[o.kind], Src: o.src, Dst: o.dst, Write: o.write, Size: o.size})
	}
	return out
}
