package shim

import (
	"errors"
	"os"
	"syscall"
)

// host is the first process of a pid namespace and of a mount namespace that are its own.
// It shows itself that namespace's processes and becomes an OCI runtime, which by that
// cannot leave anything alive that it started. args are the file that errors go to, the
// runtime's path, and its arguments with argv[0] first.
func host(args []string) {
	if len(args) < 3 {
		os.Exit(ExitFailed)
	}
	err := becomeRuntime(args[1], args[2:])
	_ = os.WriteFile(args[0], []byte(err.Error()), 0o600)
	os.Exit(ExitFailed)
}

func becomeRuntime(path string, args []string) error {
	// What is mounted from here on stays here.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount /", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	err := syscall.Exec(path, args, os.Environ()) //nolint:gosec,forbidigo // that is what it is for
	return errors.Join(errors.New("starting "+path), err)
}
