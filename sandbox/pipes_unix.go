//go:build unix

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// idle reports whether nothing is to be read from a pipe that somebody holds open. A process
// that is just being started may hold it until it is another program: that is waited for.
func idle(f *os.File) bool {
	syscall.ForkLock.Lock()
	syscall.ForkLock.Unlock() //nolint:staticcheck,gocritic // nobody who was in between is any more
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
