package procgroup

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Tie makes the kernel kill the process when krmcat ends, even by kill -9. The kernel watches
// the thread that started the process, so this goroutine keeps its thread until release, which
// is called after Wait.
func Tie(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return runtime.UnlockOSThread
}
