package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"
)

// tie has the kernel kill the process when we end without having done so ourselves, as
// after kill -9. The kernel counts the end of the thread that started the process as ours,
// so that the thread is this goroutine's until release, which comes after Wait.
func tie(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return runtime.UnlockOSThread
}
