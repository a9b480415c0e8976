//go:build linux

package main

import (
	"bytes"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalAsOwner makes a process the owner of a socket whose signals end it: PID.
func signalAsOwner(args []string) error {
	pid := number(args[0])
	how := []func(fd int) error{
		func(fd int) error { _, err := unix.FcntlInt(uintptr(fd), unix.F_SETOWN, pid); return err },
		func(fd int) error {
			owner := [2]int32{1, int32(pid)} // F_OWNER_PID
			_, _, e := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))
			return asError(e)
		},
		func(fd int) error { return unix.IoctlSetPointerInt(fd, 0x8901, pid) }, // FIOSETOWN
		func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.SIOCSPGRP, pid) },
	}
	var errs []error
	for _, own := range how {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err := own(pair[0]); err != nil {
			errs = append(errs, err)
			continue
		}
		_, err = unix.FcntlInt(uintptr(pair[0]), unix.F_SETSIG, int(unix.SIGKILL))
		_, err2 := unix.FcntlInt(uintptr(pair[0]), unix.F_SETFL, unix.O_ASYNC)
		_, err3 := unix.Write(pair[1], []byte("x"))
		if err := errors.Join(err, err2, err3); err != nil {
			errs = append(errs, err)
			continue
		}
		for range 50 { // on a busy machine many tries may fail
			if ended(pid) {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		errs = append(errs, errors.New("the process lives on"))
	}
	return errors.Join(errs...)
}

func asError(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// limitOther sets a limit of another process. A lower one would end it: PID.
func limitOther(args []string) error {
	return fmtErr("a limit", unix.Prlimit(number(args[0]), unix.RLIMIT_CORE, &unix.Rlimit{}, nil))
}

// slowOther lowers the scheduling priority of another process: PID, and of all processes of the
// user if an argument follows.
func slowOther(args []string) error {
	pid := number(args[0])
	const processes, user = 1, 3 // IOPRIO_WHO_PROCESS, IOPRIO_WHO_USER
	const idle = 3 << 13
	tries := []error{unix.Setpriority(unix.PRIO_PROCESS, pid, 19)}
	_, _, e := unix.Syscall(unix.SYS_IOPRIO_SET, processes, uintptr(pid), idle)
	tries = append(tries, asError(e))
	if len(args) > 1 {
		_, _, e := unix.Syscall(unix.SYS_IOPRIO_SET, user, 0, idle)
		tries = append(tries, unix.Setpriority(unix.PRIO_USER, 0, 19), asError(e))
	}
	for _, err := range tries {
		if err == nil {
			return nil
		}
	}
	return errors.Join(tries...)
}

// ipc attaches shared memory of System V, and creates message queues and semaphores: ID.
func ipc(args []string) error {
	memory, err := unix.SysvShmAttach(number(args[0]), 0, unix.SHM_RDONLY)
	if err == nil && bytes.Contains(memory, []byte(secret)) {
		return nil
	}
	tries := []error{err}
	const private, remove = 0, 0
	for _, c := range []struct{ get, control uintptr }{{unix.SYS_MSGGET, unix.SYS_MSGCTL}, {unix.SYS_SEMGET, unix.SYS_SEMCTL}} {
		id, _, e := unix.Syscall(c.get, private, 1, 0o600)
		if c.get == unix.SYS_MSGGET {
			id, _, e = unix.Syscall(c.get, private, 0o600, 0)
		}
		if e == 0 {
			_, _, _ = unix.Syscall(c.control, id, remove, remove)
			return nil
		}
		tries = append(tries, e)
	}
	name, err := unix.BytePtrFromString("krmcat-escape")
	if err != nil {
		return err
	}
	fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
	if e == 0 {
		_ = unix.Close(int(fd))
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
		return nil
	}
	return errors.Join(append(tries, e)...)
}
