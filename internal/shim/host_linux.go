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

// Whether an OCI runtime sees the control groups of this machine.
const (
	Groups   = "groups"
	NoGroups = "no-groups"
)

// host is the first process of a pid namespace and of a mount namespace that are its own.
// It shows itself that namespace's processes and becomes an OCI runtime, which by that
// cannot leave anything alive that it started. args are the file that errors go to, Groups
// or NoGroups, the runtime's path, and its arguments with argv[0] first.
func host(args []string) {
	if len(args) < 4 {
		os.Exit(ExitFailed)
	}
	err := becomeRuntime(args[1], args[2], args[3:])
	_ = os.WriteFile(args[0], []byte(err.Error()), 0o600)
	os.Exit(ExitFailed)
}

func becomeRuntime(groups, path string, args []string) error {
	// What is mounted from here on stays here.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount /", err)
	}
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := syscall.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	if groups == NoGroups {
		// Some versions of crun refuse machines with both kinds of control groups, even where
		// they are to use neither. Where there are none to be seen, so much the better.
		err := syscall.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", flags, "size=4k")
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return os.NewSyscallError("mount /sys/fs/cgroup", err)
		}
	}
	err := syscall.Exec(path, args, os.Environ()) //nolint:gosec,forbidigo // that is what it is for
	return &os.PathError{Op: "starting", Path: path, Err: err}
}
