package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/internal/shim"
)

// landlocked runs a program of this machine under Landlock. ran is false if the kernel has no
// Landlock.
func (g Grant) landlocked(ctx context.Context, c Cmd, s Streams) (ran bool, err error) {
	if g.g.allow.On.options.landlock == 0 {
		return false, nil
	}
	e := landlock{grant: g, work: c.Dir}
	j := job{path: c.Path, args: c.Args, dir: c.Dir, network: g.g.request.Network, unnamed: true, limits: g.Limits()}
	if j.program = c.Program; j.program == nil {
		if j.path, err = find(c.Path, g.g.allow.Host); err != nil {
			return true, err
		}
	}
	in, err := scratch.Place("")
	if err != nil {
		return true, err
	}
	if e.temp, err = os.MkdirTemp(in, "krmcat-fn-"); err != nil {
		return true, err
	}
	defer func() { _ = os.RemoveAll(e.temp) }()
	if uid, _ := g.programUser(); uid != os.Geteuid() && !keepsRoot(Landlocked) {
		e.change = true
		if err := errors.Join(os.Chown(e.temp, nobody, nobody), e.reach(&j)); err != nil {
			return true, err
		}
	}
	if j.program != nil && (!j.program.runs || g.g.allow.On.whole()) {
		j.path = filepath.Join(e.temp, j.program.name)
		if err := j.program.copyTo(j.path); err != nil {
			return true, err
		}
		j.program = nil
	}
	j.env = append(g.Environ(), clean(c.Env)...)
	j.env = append(j.env, "TMPDIR="+e.temp)
	return true, runOn(ctx, e, j, s)
}

// landlockVersion returns the version of the kernel's interface; 0 if Landlock is missing or
// disabled.
func landlockVersion() int {
	const version = 1
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if e != 0 {
		return 0
	}
	return int(v)
}

// landlock is the confiner for Landlocked.
type landlock struct {
	grant      Grant
	work, temp string
	change     bool // switch from root to nobody
}

// Constants that package unix does not have.
const (
	ioprioUser = 3      // IOPRIO_WHO_USER
	fioSetOwn  = 0x8901 // FIOSETOWN

	btrfsNamed    = 0x50009400 // ioctls that take a name, such as those for subvolumes
	btrfsSetFlags = 0x4008941a // BTRFS_IOC_SUBVOL_SETFLAGS
	btrfsReceived = 0xc0c89425 // BTRFS_IOC_SET_RECEIVED_SUBVOL
)

// pastLandlock lists calls for what this version of Landlock does not restrict: changing files
// without write access, and ending or disturbing other processes.
func pastLandlock(version int) (names []string, calls []deniedCall) {
	names = []string{
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
		"utime", "utimes", "utimensat", "futimesat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
		// Memory, semaphores and queues that are named by a number, or by a name that is not a
		// path.
		"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
	}
	// Limits of another process can end it. The pid 0 means the calling process.
	calls = append(calls, deniedCall{name: "prlimit64", mask: low, other: true})
	for _, name := range []string{"setpriority", "ioprio_set"} { // for another process, a group or a user
		calls = append(calls, deniedCall{name: name, arg: 1, mask: low, other: true})
	}
	calls = append(calls, deniedCall{name: "setpriority", mask: low, value: unix.PRIO_USER}, deniedCall{name: "ioprio_set", mask: low, value: ioprioUser})
	// ioctls of file systems that work on a file opened for reading: attributes, verity,
	// encryption, and those of XFS, F2FS and FAT. The second byte identifies the file system.
	for _, whose := range []uint64{'f', 'v', 'X', 0xf5, 'r'} {
		calls = append(calls, deniedCall{name: "ioctl", arg: 1, mask: 0xff00, value: whose << 8})
	}
	// Btrfs uses the byte of FICLONE, which copying needs. Only its ioctls for subvolumes are
	// denied.
	calls = append(calls, deniedCall{name: "ioctl", arg: 1, mask: low &^ 0xff, value: btrfsNamed},
		deniedCall{name: "ioctl", arg: 1, mask: low, value: btrfsSetFlags}, deniedCall{name: "ioctl", arg: 1, mask: low, value: btrfsReceived})
	const truncates, signals = 3, 6 // the versions that restrict these
	if version < truncates {
		names = append(names, "truncate", "openat2") // the filter cannot read the flags of openat2
		const mask = unix.O_ACCMODE | unix.O_TRUNC
		for _, empties := range []uint64{unix.O_TRUNC, mask} { // with O_RDONLY, or with neither mode
			calls = append(calls, deniedCall{name: "open", arg: 1, mask: mask, value: empties}, deniedCall{name: "openat", arg: 2, mask: mask, value: empties})
		}
	}
	if version < signals {
		// The kernel sends signals to the owner of a file or a socket.
		for _, how := range []uint64{unix.F_SETOWN, unix.F_SETOWN_EX} {
			calls = append(calls, deniedCall{name: "fcntl", arg: 1, mask: low, value: how})
		}
		for _, how := range []uint64{fioSetOwn, unix.SIOCSPGRP} {
			calls = append(calls, deniedCall{name: "ioctl", arg: 1, mask: low, value: how})
		}
		names = append(names, "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
	}
	return names, calls
}

func (l landlock) prepare(ctx context.Context, j job) (*prepared, error) {
	rules, err := l.rules(j)
	if err != nil {
		return nil, &EngineError{Engine: Landlocked, Err: err}
	}
	h := l.grant.g.allow.On
	g := h.options.group(j.limits)
	d := j.denied(g != nil)
	names, calls := pastLandlock(h.options.landlock)
	d.names, d.calls = append(d.names, names...), append(d.calls, calls...)
	if !j.network {
		// More than one family leads to the network: AF_SMC falls back to TCP. AF_NETLINK is
		// needed.
		d.calls = append(d.calls, deniedCall{name: "socket", mask: low, value: unix.AF_NETLINK, other: true})
	}
	filter, err := seccomp(d)
	if err != nil {
		g.close()
		return nil, &EngineError{Engine: Landlocked, Err: err}
	}
	cmd := stageCommand(ctx, h.stages(), shim.ConfineStage)
	spec := shim.Spec{
		IDs: l.change, UID: nobody, GID: nobody,
		Memory: j.limits.Memory, // no limit on processes: it would count all processes of the user
		Path:   j.path, Args: append([]string{j.path}, j.args...), Env: j.env, Dir: j.dir,
		Landlock: rules, Seccomp: filter,
	}
	var more []*os.File
	if p := j.program; p != nil {
		fd := nextFD(g)
		spec.Path, spec.Args[0], more = "/proc/self/fd/"+strconv.Itoa(fd), p.name, []*os.File{p.file}
		if p.script() {
			spec.Program = fd
		}
	}
	st, err := newStage(Landlocked, cmd, spec, g)
	if err != nil {
		return nil, &EngineError{Engine: Landlocked, Err: err}
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, more...)
	return &prepared{cmd: cmd, settle: st.settle}, nil
}

// reach makes the program readable by user nobody: it copies one that only root can read.
func (l landlock) reach(j *job) error {
	if j.program != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(j.path)
	if err != nil {
		return err
	}
	const others = 0o005
	open := true
	for p := real; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if p == real {
			open = info.Mode()&others == others
		}
		open = open && info.Mode()&(others&1) != 0
		if p == "/" {
			break
		}
	}
	if open {
		return nil
	}
	data, err := os.ReadFile(real)
	if err != nil {
		return err
	}
	j.path = filepath.Join(l.temp, filepath.Base(j.path))
	return os.WriteFile(j.path, data, 0o555)
}

// rules lists the files that may be opened: what hostView shows.
func (l landlock) rules(j job) (*shim.Landlock, error) {
	a := l.grant.g.allow
	hidden := slices.Concat(a.On.secrets(), repositories(a.Target, l.work))
	r := &shim.Landlock{Network: j.network, Version: a.On.options.landlock}
	for _, p := range append(system(), a.Target, l.work) {
		real, err := filepath.EvalSymlinks(p)
		if p == "" || real == "/" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = around(real, hidden, &r.Read)
		}
		if err != nil {
			return nil, err
		}
	}
	r.Read = append(r.Read, "/proc", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
	if j.path != "" { // a held program has no path
		r.Read = append(r.Read, j.path)
	}
	r.Write = []string{l.temp, "/dev/null"}
	if err := l.grant.inPlace(); err != nil {
		return nil, err
	}
	mounts, err := l.grant.Mounts()
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		switch {
		case m.kind() != bindMount:
		case m.RW:
			r.Write = append(r.Write, m.Src)
		default:
			r.Read = append(r.Read, m.Src)
		}
	}
	return r, nil
}

// around adds dir to out, or, if something hidden is below it, everything else below it.
func around(dir string, hidden []string, out *[]string) error {
	split := false
	for _, h := range hidden {
		if dir == h {
			return nil
		}
		split = split || within(h, dir)
	}
	if !split {
		*out = append(*out, dir)
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(hidden, p):
		case e.IsDir():
			if err := around(p, hidden, out); err != nil {
				return err
			}
		case e.Type().IsRegular():
			*out = append(*out, p)
		}
	}
	return nil
}
