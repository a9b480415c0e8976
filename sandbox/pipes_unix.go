//go:build unix

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// idle reports whether a pipe that is still open has nothing to read. A process between fork
// and exec may hold the pipe too, so idle waits for those first.
func idle(f *os.File) bool {
	syscall.ForkLock.Lock()
	syscall.ForkLock.Unlock() //nolint:staticcheck,gocritic // no process is between fork and exec now
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	empty := false
	err = conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(poll, 0)
		empty = n == 0 && err == nil
	})
	return err == nil && empty
}
