package shim

import (
	"errors"
	"os"
	"syscall"
)

// HostStage is the name of the stage that becomes an OCI runtime, and NothingStage of one
// that ends well.
const (
	HostStage    = "host"
	NothingStage = "nothing"
)

// What the host stage does besides, by its flags.
const (
	HideGroups = "hide-groups" // shows no control groups
	OwnStreams = "own-streams" // refuses streams that are not the job's alone
)

// host is the first process of a pid namespace and of a mount namespace that are its own.
// It shows itself that namespace's processes and becomes an OCI runtime, which by that
// cannot leave anything alive that it started. args are the file that errors go to, flags,
// "--", the runtime's path, and its arguments with argv[0] first.
func host(args []string) {
	var flags []string
	for i, a := range args {
		if a != "--" || i == 0 || i+2 >= len(args) {
			continue
		}
		flags, args = args[1:i], append([]string{args[0]}, args[i+1:]...)
		err := becomeRuntime(flags, args[1], args[2:])
		_ = os.WriteFile(args[0], []byte(err.Error()), 0o600)
		break
	}
	os.Exit(ExitFailed)
}

// hostFlags are the flags of a mount in which nothing is run.
const hostFlags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

func becomeRuntime(flags []string, path string, args []string) error {
	if err := closeRest(); err != nil {
		return err
	}
	// What is mounted from here on stays here.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount /", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", hostFlags, ""); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	for _, f := range flags {
		var err error
		switch f {
		case HideGroups:
			err = hideGroups()
		case OwnStreams:
			err = ownStreams()
		}
		if err != nil {
			return err
		}
	}
	err := syscall.Exec(path, args, os.Environ()) //nolint:gosec,forbidigo // that is what it is for
	return &os.PathError{Op: "starting", Path: path, Err: err}
}

// hideGroups is for versions of crun that refuse machines with both kinds of control
// groups, even where they are to use neither. Where there are none to be seen, so much the
// better.
func hideGroups() error {
	err := syscall.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", hostFlags, "size=4k")
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return os.NewSyscallError("mount /sys/fs/cgroup", err)
	}
	return nil
}

// ownStreams is for crun, which gives what the three streams are to the job's user. That is
// meant for pipes, but it takes this machine's /dev/null, which it opens once more where a
// stream is one, and files as well. In place of null come a pipe that nobody writes to, and
// a zero of our own, which takes what is written as null does. Files are refused.
func ownStreams() error {
	for fd := range 3 {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		kind := st.Mode & syscall.S_IFMT
		if kind == syscall.S_IFIFO || kind == syscall.S_IFSOCK {
			continue
		}
		if kind != syscall.S_IFCHR || st.Rdev != nullDevice {
			return errors.New("one of the three streams is a file or a terminal, which crun would give to the function's user")
		}
		open := ownSink
		if fd == 0 {
			open = emptyPipe
		}
		own, err := open()
		if err != nil {
			return err
		}
		if err := syscall.Dup3(own, fd, 0); err != nil {
			return os.NewSyscallError("dup3", err)
		}
	}
	return nil
}

// The numbers of /dev/null and of /dev/zero.
const (
	nullDevice = 1<<8 | 3
	zeroDevice = 1<<8 | 5
)

// emptyPipe is a pipe with an end.
func emptyPipe() (int, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("pipe2", err)
	}
	return ends[0], syscall.Close(ends[1])
}

// ownSink opens a device that nobody else has. Its file system covers /dev/shm, which is
// not needed from here on, in this mount namespace.
func ownSink() (int, error) {
	const at = "/dev/shm"
	if err := syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=4k"); err != nil {
		return -1, os.NewSyscallError("mount "+at, err)
	}
	if err := syscall.Mknod(at+"/sink", syscall.S_IFCHR|0o600, zeroDevice); err != nil {
		return -1, os.NewSyscallError("mknod", err)
	}
	fd, err := syscall.Open(at+"/sink", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("open", err)
	}
	return fd, nil
}
