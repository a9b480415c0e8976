//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own. Ctrl-C then reaches krmcat and not the function,
// and killing the group kills its children.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return cmd.Process.Kill()
	}
}

// adopt does nothing: process groups do the work of job objects.
func adopt(*exec.Cmd) (release func()) { return func() {} }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process == nil || cmd.Process.Pid <= 1 {
		return
	}
	// ESRCH means that the group is empty, as wanted.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = cmd.Process.Signal(os.Kill)
	}
}

func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
