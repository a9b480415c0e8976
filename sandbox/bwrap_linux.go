package sandbox

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
)

// bubblewrap confines with bwrap. The stage inside does what bwrap cannot do: limits, and
// another user if krmcat runs as root.
type bubblewrap struct {
	program string
	options HostOptions
}

func (b bubblewrap) prepare(ctx context.Context, j job) (*prepared, error) {
	stages := b.options.program()
	if stages.err != nil {
		return nil, &EngineError{Engine: Bubblewrap, Err: stages.err}
	}
	g := b.options.group(j.limits.withInit())
	s, err := j.spec(g)
	if err != nil {
		g.close()
		return nil, &EngineError{Engine: Bubblewrap, Err: err}
	}
	m := mapUsers(j)
	s.IDs, s.LockProc = m.change, m.root
	made := m.change || m.root // krmcat makes the user namespace, not bwrap
	// The stage is PID 1: a job of the same user could change a process of bwrap's.
	args := []string{"--unshare-pid", "--as-pid-1", "--die-with-parent", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "krmcat"}
	if !made {
		args = append(args, "--unshare-user", "--uid", strconv.Itoa(j.uid), "--gid", strconv.Itoa(j.gid))
	}
	if !j.network {
		args = append(args, "--unshare-net")
	}
	next := nextFD(g) // after the files of the stage
	for _, o := range j.view {
		args = append(args, bwrapArgs(o, next)...)
	}
	if m.change { // the stage is root in it and needs one system call; bwrap parses all mounts for each
		s.ReadOnly = sealed(j.view)
	} else {
		for _, dir := range sealed(j.view) {
			args = append(args, "--remount-ro", dir)
		}
	}
	// /proc shows the arguments of bwrap to the function. They are passed in a file, since
	// they name paths of this machine.
	more, err := j.bwrapFiles(args)
	if err != nil {
		g.close()
		return nil, &EngineError{Engine: Bubblewrap, Err: err}
	}
	s.Streams = next + len(more) // bwrap closes its other files
	cmd := command(ctx, b.program, "--args", strconv.Itoa(next+len(more)-1), "--", shim.ProgramPath, shim.ConfineStage)
	cmd.ExtraFiles = []*os.File{stages.file}
	if made {
		a := cmd.SysProcAttr
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = m.uids, m.gids, m.groups
	}
	st, err := newStage(Bubblewrap, cmd, s, g)
	if err != nil {
		closeAll(more)
		return nil, &EngineError{Engine: Bubblewrap, Err: err}
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, more...)
	return &prepared{cmd: cmd, over: st, apart: true, settle: func(err error) error { closeAll(more); return st.settle(err) }}, nil
}

// bwrapFiles returns the files that bwrap reads: the held program, if there is one, opened
// anew so that each bwrap has its own offset, and the arguments.
func (j job) bwrapFiles(args []string) ([]*os.File, error) {
	var files []*os.File
	if j.program != nil {
		f, err := j.program.again()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	list, err := memory("arguments", strings.NewReader(strings.Join(args, "\x00")+"\x00"), unix.MFD_NOEXEC_SEAL)
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return append(files, list), nil
}

// sealed returns the directories that are made read-only after all mounts are made.
func sealed(view []op) []string {
	var dirs []string
	for _, o := range view {
		if o.kind == opDev || o.kind == opTmpfs && !o.write {
			dirs = append(dirs, o.dst)
		}
	}
	return append(dirs, "/")
}

func bwrapArgs(o op, program int) []string {
	switch o.kind {
	case opDir:
		return []string{"--dir", o.dst}
	case opTmpfs:
		if !o.write {
			return []string{"--perms", "0755", "--size", strconv.Itoa(emptySize), "--tmpfs", o.dst}
		}
		return []string{"--perms", "1777", "--size", strconv.FormatInt(o.size, 10), "--tmpfs", o.dst}
	case opBind:
		if o.write {
			return []string{"--bind", o.src, o.dst}
		}
		return []string{"--ro-bind", o.src, o.dst}
	case opSymlink:
		return []string{"--symlink", o.src, o.dst}
	case opEmpty:
		return []string{"--ro-bind", "/dev/null", o.dst}
	case opFile:
		return []string{"--perms", "0555", "--file", strconv.Itoa(program), o.dst}
	case opProc:
		return []string{"--proc", o.dst}
	case opDev:
		return []string{"--dev", o.dst, "--perms", "1777", "--size", strconv.FormatInt(o.size, 10), "--tmpfs", o.dst + "/shm"}
	}
	return nil
}

// emptySize bounds a tmpfs that holds only directories and links, in bytes.
const emptySize = 1 << 20
