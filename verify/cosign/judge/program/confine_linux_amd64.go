//go:build !cgo

package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// From linux/seccomp.h, linux/filter.h, linux/audit.h and linux/prctl.h.
const (
	sysSeccomp     = 317
	setModeFilter  = 1
	allThreads     = 1 // SECCOMP_FILTER_FLAG_TSYNC
	setNoNewPrivs  = 38
	loadWord       = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jumpEqual      = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	answer         = 0x06 // BPF_RET | BPF_K
	retAllow       = 0x7fff0000
	retRefuse      = 0x00050000 | uint32(syscall.EPERM)
	auditArchAMD64 = 0xc000003e
	offNumber      = 0
	offArch        = 4
)

// allowed returns the system calls of a Go program that reads and writes open files, allocates
// memory and waits. Others are refused: it can open no file, create no socket and start no program.
func allowed() []uint32 {
	return []uint32{
		syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_CLOSE, syscall.SYS_PREAD64,
		syscall.SYS_MMAP, syscall.SYS_MUNMAP, syscall.SYS_MPROTECT, syscall.SYS_MADVISE, syscall.SYS_MINCORE,
		syscall.SYS_FUTEX, syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_GETTIME, syscall.SYS_GETTIMEOFDAY, syscall.SYS_SCHED_YIELD,
		syscall.SYS_SCHED_GETAFFINITY, syscall.SYS_GETPID, syscall.SYS_GETTID,
		syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN, syscall.SYS_SIGALTSTACK, syscall.SYS_RESTART_SYSCALL,
		syscall.SYS_EPOLL_CREATE1, syscall.SYS_EPOLL_CTL, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EVENTFD2,
		sysGetrandom, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP,
	}
}

const sysGetrandom = 318

// threadFlags are the flags of clone with which Go starts a thread.
const threadFlags = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND |
	syscall.CLONE_SYSVSEM | syscall.CLONE_THREAD | syscall.CLONE_SETTLS

// offFirst is the offset of the lower half of the first argument of a call.
const offFirst = 16

// instruction is a struct sock_filter.
type instruction struct {
	code     uint16
	yes, no  uint8
	constant uint32
}

// only allows a call with one value of its first argument.
func only(call, first uint32) []instruction {
	return []instruction{
		{jumpEqual, 0, 4, call},
		{loadWord, 0, 0, offFirst},
		{jumpEqual, 0, 1, first},
		{answer, 0, 0, retAllow},
		{answer, 0, 0, retRefuse},
	}
}

// closeInherited closes open files, other than the standard streams, that were inherited through
// krmcat. Files that Go has opened in this process are close-on-exec and stay.
func closeInherited() {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= syscall.Stderr {
			continue
		}
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
}

// confine drops all system calls that verifying does not need. If the system does not support it,
// the process stays unconfined, as krmcat itself would be.
func confine() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filter := []instruction{
		{loadWord, 0, 0, offArch},
		{jumpEqual, 1, 0, auditArchAMD64},
		{answer, 0, 0, retRefuse},
		{loadWord, 0, 0, offNumber},
	}
	for _, n := range allowed() {
		filter = append(filter, instruction{jumpEqual, 0, 1, n}, instruction{answer, 0, 0, retAllow})
	}
	filter = append(filter, only(syscall.SYS_CLONE, threadFlags)...)
	filter = append(filter, only(syscall.SYS_TGKILL, uint32(os.Getpid()))...) //nolint:gosec // it is positive
	filter = append(filter, instruction{answer, 0, 0, retRefuse})
	program := struct {
		n      uint16
		filter *instruction
	}{uint16(len(filter)), &filter[0]} //nolint:gosec // about sixty
	closeInherited()
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0); e != 0 {
		return
	}
	_, _, _ = syscall.RawSyscall(sysSeccomp, setModeFilter, allThreads, uintptr(unsafe.Pointer(&program))) //nolint:gosec // the call takes a struct
}
