//go:build unix

package helm

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// become starts a process group, reports it to the render, and executes helm in this process.
func become(args []string) error {
	home := strings.TrimSuffix(slashed(args[0]), Path)
	text, err := os.ReadFile(home + File)
	if err != nil {
		return err
	}
	path, name, _ := strings.Cut(string(text), "\x00")
	outlive()
	c, err := dial(home + Socket)
	if err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	if _, err := fmt.Fprintf(c, "%s%d\n", Line, os.Getpid()); err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	said := make([]byte, len(Answered))
	if n, err := c.Read(said); err != nil || string(said[:n]) != Answered {
		return errRefused
	}
	if err := keepOpen(c); err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{name}, args[1:]...), syscall.Environ()) //nolint:gosec // the helm that the user chose
	return &os.PathError{Op: "exec", Path: path, Err: err}
}

// outlive leaves the process group that a terminal interrupts. The render decides when helm ends:
// if the render is killed, the connection closes. (Package os/signal would do, but takes long to
// initialise.)
func outlive() { _ = syscall.Setpgid(0, 0) }

// unixConn is a connection without package net, which takes long to initialise.
type unixConn struct {
	*os.File
	fd int
}

// keepOpen keeps a connection open in the program that this process executes.
func keepOpen(c unixConn) error {
	_, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(c.fd), syscall.F_SETFD, 0)
	if e != 0 {
		return os.NewSyscallError("fcntl", e)
	}
	return nil
}

// dial connects to a socket.
func dial(path string) (unixConn, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return unixConn{}, os.NewSyscallError("socket", err)
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		_ = syscall.Close(fd)
		return unixConn{}, os.NewSyscallError("connect", err)
	}
	return unixConn{os.NewFile(uintptr(fd), path), fd}, nil
}
