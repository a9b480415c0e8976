package shim

import (
	"syscall"
	"testing"
)

// TestCloseRest checks that both implementations leave only the three streams open.
func TestCloseRest(t *testing.T) {
	for name, closeAll := range map[string]func() error{"by range": closeRest, "by list": closeListed} {
		var fds []uintptr
		for _, at := range []uintptr{3, 200, 1000} {
			fd, _, e := syscall.Syscall(syscall.SYS_FCNTL, 0, syscall.F_DUPFD, at)
			if e != 0 {
				t.Fatal(e)
			}
			defer func() { _ = syscall.Close(int(fd)) }()
			fds = append(fds, fd)
		}
		if err := closeAll(); err != nil {
			t.Fatal(err)
		}
		for _, fd := range append(fds, 0, 1, 2) {
			flags, _, e := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
			if closed := flags&syscall.FD_CLOEXEC != 0; e != 0 || closed != (fd > 2) {
				t.Errorf("%s: %d is closed: %v, %v", name, fd, closed, e)
			}
		}
	}
}
