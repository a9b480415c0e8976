//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own, so that Ctrl-C reaches us and not the
// function, and so that killing takes its children along.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return cmd.Process.Kill()
	}
}

// adopt has nothing to do where process groups exist.
func adopt(*exec.Cmd) (release func()) { return func() {} }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process == nil || cmd.Process.Pid <= 1 {
		return
	}
	// Nobody left in the group is what was wanted.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = cmd.Process.Signal(os.Kill)
	}
}

func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
