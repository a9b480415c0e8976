//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endItself ends this process as programs end themselves, or as the kernel ends them. The attempt
// succeeds if the process survives. The argument is the number of a signal, or alarm, cpu, filter,
// fault. The Go runtime handles signals; most programs do not, so its handlers are removed.
func endItself(args []string) error {
	runtime.LockOSThread()
	var none [4]uint64 // struct sigaction: the default action
	for n := uintptr(1); n <= 64; n++ {
		_ = call("rt_sigaction", unix.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&none)), 0, 8)
	}
	var err error
	switch args[0] {
	case "alarm":
		_, err = unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.Timeval{Usec: 1000}})
		pause(100 * time.Millisecond)
	case "cpu":
		err = unix.Prlimit(0, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 10}, nil)
		for spent := int64(0); err == nil && spent < 3; { // seconds of CPU time
			var used unix.Rusage
			err = unix.Getrusage(unix.RUSAGE_SELF, &used)
			spent = used.Utime.Sec + used.Stime.Sec
		}
	case "filter":
		err = filtered()
	case "fault":
		var page []byte
		if page, err = unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err == nil {
			page[0] = 1
		}
	default:
		err = unix.Kill(os.Getpid(), unix.Signal(number(args[0])))
		pause(10 * time.Millisecond)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "UNKNOWN:", err)
	}
	return err
}

// pause is time.Sleep without the Go runtime, whose signal handlers were removed.
func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil)
}

// filtered makes a system call for which its own seccomp filter kills it.
func filtered() error {
	const load, equal, ret = 0x20, 0x15, 0x06 // struct sock_filter: see seccomp(2)
	program := []unix.SockFilter{
		{Code: load, K: 0},
		{Code: equal, Jf: 1, K: uint32(unix.SYS_GETPRIORITY)},
		{Code: ret, K: 0x80000000}, // SECCOMP_RET_KILL_PROCESS
		{Code: ret, K: 0x7fff0000},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0); err != nil {
		return err
	}
	_, _ = unix.Getpriority(unix.PRIO_PROCESS, 0)
	return nil
}

// firstProcess is the number of the first process of the namespace, seen from inside.
const firstProcess = 1

// signalFirst sends every signal to the process that reports how this one ends. If a signal ended
// it, nothing would be reported.
func signalFirst([]string) error {
	if os.Getpid() == firstProcess {
		return nil // no process reports
	}
	for n := 1; n <= 64; n++ {
		if s := unix.Signal(n); s != unix.SIGURG { // the Go runtime sends it too
			_ = unix.Kill(firstProcess, s)
		}
	}
	pause(20 * time.Millisecond)
	if os.Getppid() != firstProcess {
		return nil
	}
	return errors.New("the first process lives on")
}

// enterFirst tries to enter that process: its memory, its open files, its directories.
func enterFirst([]string) error {
	dir := "/proc/" + strconv.Itoa(firstProcess) + "/"
	var reached []string
	for _, name := range []string{"mem", "maps", "environ", "auxv", "syscall", "oom_score_adj", "coredump_filter"} {
		how := unix.O_RDONLY
		if name == "mem" || name == "oom_score_adj" || name == "coredump_filter" {
			how = unix.O_RDWR
		}
		if fd, err := unix.Open(dir+name, how, 0); err == nil {
			if _, err := unix.Read(fd, make([]byte, 1)); err == nil || name == "mem" {
				reached = append(reached, name)
			}
		}
	}
	for _, name := range []string{"root", "cwd", "exe", "fd", "fdinfo", "task/1/fd", "map_files", "ns/user"} {
		if _, err := os.ReadDir(dir + name); err == nil {
			reached = append(reached, name)
		} else if _, err := os.Readlink(dir + name); err == nil {
			reached = append(reached, name)
		}
	}
	if fd, err := unix.PidfdOpen(firstProcess, 0); err == nil {
		for n := range 16 {
			if _, err := unix.PidfdGetfd(fd, n, 0); err == nil {
				reached = append(reached, "its descriptor "+strconv.Itoa(n))
			}
		}
	}
	if unix.PtraceSeize(firstProcess) == nil {
		reached = append(reached, "all of it")
	}
	if reached == nil {
		return errors.New("the first process shows nothing")
	}
	fmt.Fprintln(os.Stderr, "it reaches", reached)
	return nil
}

// limitFirst sets limits for that process: CPU time, memory, open files. It may need them to report
// how this process ends. It is no escape if that process ends.
func limitFirst([]string) error {
	var errs []error
	for _, what := range []int{unix.RLIMIT_CPU, unix.RLIMIT_AS, unix.RLIMIT_DATA, unix.RLIMIT_STACK, unix.RLIMIT_NOFILE, unix.RLIMIT_FSIZE} {
		errs = append(errs, unix.Prlimit(firstProcess, what, &unix.Rlimit{}, nil))
	}
	return fmt.Errorf("it ends all the same: %w", errors.Join(errs...))
}
