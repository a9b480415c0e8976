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

// bubblewrap confines with bwrap. What bwrap cannot do (limits, another user for root) is
// done inside, by our own stage.
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
	made := m.change || m.root // the user namespace, by us
	// Our stage is the first process: bwrap's own could be changed by a job of the same user.
	args := []string{"--unshare-pid", "--as-pid-1", "--die-with-parent", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "krmcat"}
	if !made {
		args = append(args, "--unshare-user", "--uid", strconv.Itoa(j.uid), "--gid", strconv.Itoa(j.gid))
	}
	if !j.network {
		args = append(args, "--unshare-net")
	}
	next := nextFD(g) // behind the files of the stage
	for _, o := range j.view {
		args = append(args, bwrapArgs(o, next)...)
	}
	if m.change { // our stage is root there and does it with one system call; bwrap reads the list of all mounts for each
		s.ReadOnly = sealed(j.view)
	} else {
		for _, dir := range sealed(j.view) {
			args = append(args, "--remount-ro", dir)
		}
	}
	// What the function sees of other processes is bwrap's own: it does not tell where
	// things of this machine are.
	more, err := j.bwrapFiles(args)
	if err != nil {
		g.close()
		return nil, &EngineError{Engine: Bubblewrap, Err: err}
	}
	s.Streams = next + len(more) // bwrap closes what it has beside its own three
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

// bwrapFiles are the files that bwrap reads: the job's program, if that is held, from where
// it stands, so that each bwrap has its own; and its arguments.
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

// sealed are the places that are made read-only once everything stands in them.
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

// emptySize is that of a tmpfs with nothing in it but directories and links, in bytes.
const emptySize = 1 << 20
