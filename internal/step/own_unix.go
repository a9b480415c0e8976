//go:build unix

package step

import (
	"os"
	"syscall"
)

// outlive leaves the process group that a terminal interrupts. The render decides when a Step
// ends: if it is killed, the connection closes. (Package os/signal would do, but takes long to
// initialise.)
func outlive() { _ = syscall.Setpgid(0, 0) }

// unixConn is a connection without package net, which takes long to initialise.
type unixConn struct {
	*os.File
	fd int
}

// CloseWrite implements conn.
func (c unixConn) CloseWrite() error { return syscall.Shutdown(c.fd, syscall.SHUT_WR) }

// keepOpen keeps a connection open in the program that this process becomes.
func keepOpen(c conn) error {
	u, ok := c.(unixConn)
	if !ok {
		return errRefused
	}
	_, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(u.fd), syscall.F_SETFD, 0)
	if e != 0 {
		return os.NewSyscallError("fcntl", e)
	}
	return nil
}

// dial connects to a socket.
func dial(path string) (conn, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	return unixConn{os.NewFile(uintptr(fd), path), fd}, nil
}
