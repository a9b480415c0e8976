package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/sandbox/internal/procgroup"
)

// newConfiner returns the implementation of an engine. The error says what is missing.
func newConfiner(w Engine, o HostOptions) (confiner, error) {
	if w == Native {
		return native{o}, nil
	}
	program, err := find(string(w), o.Environ)
	if err != nil {
		return nil, err
	}
	if w != Bubblewrap {
		return nil, fmt.Errorf("krmcat has no engine %s", w)
	}
	return bubblewrap{program, o}, nil
}

// denied lists the system calls that one job is denied in addition to those that all jobs are.
type denied struct {
	names []string
	calls []deniedCall
}

// denied returns them. grouped means that a control group bounds the job's memory.
func (j job) denied(grouped bool) denied {
	var d denied
	if j.unnamed {
		d.calls = append(d.calls, deniedUnix()...)
	}
	if !grouped {
		names, calls := sharedMemory()
		d.names, d.calls = append(d.names, names...), append(d.calls, calls...)
	}
	return d
}

// spec tells the stage what to do for a job. An engine adds what the stage does in its place.
func (j job) spec(g *group) (shim.Spec, error) {
	filter, err := seccomp(j.denied(g != nil))
	return shim.Spec{
		UID: j.uid, GID: j.gid,
		Memory: j.limits.Memory, Processes: j.limits.Processes,
		Seccomp: filter, First: true,
		Path: j.path, Args: append([]string{j.path}, j.args...), Env: j.env, Dir: j.dir,
	}, err
}

// mapping holds the ids of a user namespace, and the user of its first process.
type mapping struct {
	uids, gids []syscall.SysProcIDMap
	groups     bool // setgroups(2) is allowed in it
	change     bool // the first process is root in it, and has to switch to the job's user
	root       bool // the job is root in it and on this machine: no capabilities, but root's files
}

// mapUsers maps the job's user. If krmcat runs as root, it is root in the namespace too, so
// that it can access what it mounts. The job is another user, because limits on processes do
// not apply to root, and root's files must not be readable. The namespace has only one user if
// krmcat does not run as root, if the job must be root, or if no other user can be mapped.
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

// givenUser returns the user of a job that is to run as uid and gid, and why it is another one.
func givenUser(uid, gid int) (isUID, isGID int, why string) {
	m := mapUsers(job{uid: uid, gid: gid})
	switch {
	case m.root && uid == 0:
		return 0, 0, "root can only have the group 0"
	case m.root:
		return 0, 0, "this user namespace has no such user"
	}
	return uid, gid, ""
}

// groupsChange reports whether setgroups(2) is allowed in this process's user namespace. If it
// is not, a namespace below may not allow it either.
func groupsChange() bool {
	data, err := os.ReadFile("/proc/self/setgroups")
	return err != nil || strings.HasPrefix(string(data), "allow")
}

// known reports whether this process's user namespace maps an id. Other ids cannot be mapped
// in a namespace below it.
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

// command makes a process in a session of its own, which is a process group that is killed as
// a whole.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // starting what was granted is what this package is for
	procgroup.Isolate(cmd)
	cmd.SysProcAttr.Setpgid = false
	cmd.SysProcAttr.Setsid = true                  // it cannot type into the user's terminal
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off"} // a stage lives for a millisecond
	cmd.Dir = "/"
	cmd.WaitDelay = waitDelay
	return cmd
}

// native confines with namespaces that krmcat makes itself.
type native struct{ options HostOptions }

func (n native) prepare(ctx context.Context, j job) (*prepared, error) {
	g := n.options.group(j.limits.withInit())
	s, err := j.spec(g)
	if err != nil {
		g.close()
		return nil, &EngineError{Engine: Native, Err: err}
	}
	m := mapUsers(j)
	s.IDs, s.Loopback, s.Ops, s.LockProc = m.change, !j.network, opsFor(j.view), m.root
	cmd := stageCommand(ctx, n.options.program(), shim.ConfineStage)
	a := cmd.SysProcAttr
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if !j.network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = m.uids, m.gids, m.groups
	// A process that is not root in the namespace keeps its capabilities only as ambient ones.
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_DAC_OVERRIDE}
	var program []*os.File
	if j.program != nil {
		s.Program, program = nextFD(g), []*os.File{j.program.file}
	}
	st, err := newStage(Native, cmd, s, g)
	if err != nil {
		return nil, &EngineError{Engine: Native, Err: err}
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, program...)
	return &prepared{cmd: cmd, over: st, settle: st.settle}, nil
}

func opsFor(view []op) []shim.Op {
	kinds := map[opKind]string{
		opDir: shim.Dir, opTmpfs: shim.Tmpfs, opBind: shim.Bind, opSymlink: shim.Symlink,
		opEmpty: shim.Empty, opFile: shim.File, opProc: shim.Proc, opDev: shim.Dev,
	}
	out := []shim.Op{}
	for _, o := range view {
		out = append(out, shim.Op{Kind: kinds[o.kind], Src: o.src, Dst: o.dst, Write: o.write, Size: o.size})
	}
	return out
}
