//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Isolate gives the process a group of its own. Ctrl-C then reaches krmcat and not the function,
// and killing the group kills its children.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		Kill(cmd)
		return cmd.Process.Kill()
	}
}

// Adopt does nothing: process groups do the work of job objects.
func Adopt(*exec.Cmd) (release func()) { return func() {} }

// Kill ends the group of a process.
func Kill(cmd *exec.Cmd) {
	if cmd.Process == nil || cmd.Process.Pid <= 1 {
		return
	}
	// ESRCH means that the group is empty, as wanted.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = cmd.Process.Signal(os.Kill)
	}
}

// Busy reports whether an error is that a program is still open for writing.
func Busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
