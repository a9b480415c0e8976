//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const dialTimeout = 2 * time.Second

func tcp(addresses []string) error {
	return each(addresses, func(a string) error {
		c, err := net.DialTimeout("tcp", a, dialTimeout)
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("ESCAPED"))
		_ = c.Close()
		return err
	})
}

// udp sends to servers and waits for an answer: sending alone proves nothing.
func udp(addresses []string) error {
	return each(addresses, func(a string) error {
		c, err := net.DialTimeout("udp", a, dialTimeout)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err = c.Write([]byte("ESCAPED")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(dialTimeout / 4))
		_, err = c.Read(make([]byte, 16))
		return err
	})
}

// unixSocket connects to Unix sockets. A name that begins with @ is abstract.
func unixSocket(paths []string) error {
	return each(paths, func(p string) error {
		c, err := net.DialTimeout("unix", p, dialTimeout)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// unixPair sends a datagram to a socket from one of a connected pair.
func unixPair(paths []string) error {
	return each(paths, func(p string) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		}
		if err != nil {
			return fmt.Errorf("a pair: %w", err)
		}
		defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
		return fmtErr("sending to "+p, unix.Sendto(pair[0], []byte("ESCAPED"), 0, &unix.SockaddrUnix{Name: p}))
	})
}

// fifo writes to named pipes that another process reads from.
func fifo(paths []string) error {
	return each(paths, func(p string) error {
		if info, err := os.Lstat(p); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return fmt.Errorf("%s is no pipe: %v", filepath.Base(p), err)
		}
		fd, err := syscall.Open(p, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("opening %s: %w", p, err)
		}
		_, err = syscall.Write(fd, []byte("ESCAPED"))
		_ = syscall.Close(fd)
		return err
	})
}

// families opens sockets of all families but netlink, which only gives information.
func families([]string) error {
	var last error
	for family := range 64 {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if family == unix.AF_NETLINK {
				continue
			}
			fd, err := unix.Socket(family, kind, 0)
			if err == nil {
				_ = unix.Close(fd)
				fmt.Fprintf(os.Stderr, "family %d\n", family)
				return nil
			}
			last = err
		}
	}
	return last
}

// packet opens sockets below TCP and UDP.
func packet([]string) error {
	if fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); err == nil {
		return unix.Close(fd)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	if err != nil {
		return fmtErr("raw socket", err)
	}
	return unix.Close(fd)
}

// vsock connects to the host of this virtual machine.
func vsock([]string) error {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err != nil {
		return fmtErr("vsock", err)
	}
	return unix.Close(fd)
}
