package shim

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const (
	prSetDumpable = 4
	lastSignal    = 64
	signaled      = 128 // plus the signal: the exit code for a program that a signal ended
)

// startBelow starts the program as a child of this process, which is PID 1 of its namespace. It
// reports how the program ended, and exits the same way after the processes that the program
// left have ended. It returns only if the program was not started. The program is not PID 1
// itself, since that ignores signals that it sends itself or gets for its limits.
//
// The program cannot forge the report on StatusFD: this process is another user, or lets the
// program access none of its memory and files, and signals from within the namespace do not
// reach it. When this process ends, the kernel kills all others of the namespace, so it must not
// end before their output is read.
func startBelow(s Spec) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetDumpable, 0, 0, 0, 0, 0); e != 0 {
		return failed("hiding the first process", e)
	}
	defaultSignals()
	pid, err := fork(s)
	if err != nil {
		return err
	}
	if err := capabilities(0); err != nil {
		return err
	}
	letGo(s)
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && ended != pid:
		case err != nil:
			return failed("waiting for the program", err)
		default:
			code := tell(status)
			if !stay() {
				code = ExitFailed
			}
			os.Exit(code)
		}
	}
}

// stay waits until all other processes of the namespace have ended, or until the other end of
// StatusFD is closed, which happens after all output was read. It returns false if it could not
// wait: output may be lost then.
func stay() bool {
	for {
		ended, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil {
			return errors.Is(err, syscall.ECHILD) // without blocking it is not interrupted
		}
		pause := lookAgain
		if ended > 0 {
			pause = 0 // another one may have ended too
		}
		alone, err := unheard(pause)
		if alone || err != nil {
			return err == nil
		}
	}
}

// lookAgain is the interval at which ended processes are collected, in nanoseconds. Nothing
// waits for it: the end of StatusFD is noticed at once.
const lookAgain = int64(10 * time.Millisecond)

// unheard waits at most pause for the other end of StatusFD to be closed, and reports whether it
// is.
func unheard(pause int64) (bool, error) {
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: StatusFD} // POLLERR and POLLHUP are always reported
	wait := syscall.NsecToTimespec(pause)
	n, _, e := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
	if e != 0 && e != syscall.EINTR {
		return false, e
	}
	return e == 0 && n > 0, nil
}

// letGo closes the files that this process no longer needs, so that the program and its children
// are the last to hold the streams.
func letGo(s Spec) {
	for fd := range StatusFD {
		_ = syscall.Close(fd)
	}
	for _, fd := range append(s.Groups, s.Program) {
		_ = syscall.Close(fd)
	}
}

// fork starts the program as a child with the three streams, as its user. Switching to that user
// drops all capabilities.
func fork(s Spec) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: s.Env, Files: []uintptr{0, 1, 2}}
	if s.IDs {
		attr.Sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.UID), Gid: uint32(s.GID), NoSetGroups: true}}
	}
	if err := limitProcesses(s); err != nil {
		return 0, err
	}
	err = untilFree(func() error {
		pid, err = syscall.ForkExec(s.Path, s.Args, attr)
		return err
	})
	return pid, err
}

// spareThreads allows for a thread that the Go runtime starts between the count and the start of
// the program.
const spareThreads = 1

// limitProcesses bounds the processes and threads of the program's user in the namespace. If
// that is the user of this process too, its own threads are added to the limit.
func limitProcesses(s Spec) error {
	if s.Processes <= 0 {
		return nil
	}
	most := uint64(s.Processes)
	if !s.IDs {
		threads, _ := runtime.ThreadCreateProfile(nil) // all that were started; none of them ends
		most += uint64(threads) + spareThreads
	}
	return bound(rlimitNproc, most)
}

// tell reports how the program ended, and returns the exit code that says the same.
func tell(status syscall.WaitStatus) int {
	how, number, code := Exited, status.ExitStatus(), status.ExitStatus()
	if status.Signaled() {
		how, number = Signaled, int(status.Signal())
		code = signaled + number
	}
	_, _ = syscall.Write(StatusFD, []byte(how+strconv.Itoa(number)+"\n"))
	return code
}

// defaultSignals removes the signal handlers of the Go runtime. The kernel then drops all
// signals from within the namespace to PID 1.
func defaultSignals() {
	for n := uintptr(1); n <= lastSignal; n++ {
		// struct sigaction. All zero means the default handler.
		var was, none [4]uint64
		const ignored, maskSize = 1, 8
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, n, 0, uintptr(unsafe.Pointer(&was)), maskSize, 0, 0)
		if e == 0 && was[0] != ignored {
			_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&none)), 0, maskSize, 0, 0)
		}
	}
}
