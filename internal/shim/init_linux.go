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
	signaled      = 128 // and the signal: the exit code of a program that one ended
)

// startBelow starts the program as a child of this process, which is the first of its pid
// namespace, tells how it ended, and ends so when all that it left has. A program that were the
// first process itself would live through every signal that it sends itself, or that its limits
// do. It returns only where the program was not started.
//
// What is told of its end stands on StatusFD, where the program cannot write: this process
// is another user or shows it none of its memory and of its files, and signals from within the
// namespace do not reach it. When this process ends, the kernel ends all others of the
// namespace: it is not to end before what they write was read.
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

// stay waits until nobody else of the namespace is left, or until nobody listens to what this
// process tells: whoever does reads first what the program has left others to write. It is
// false where there is no waiting: then something may have been lost.
func stay() bool {
	for {
		ended, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil {
			return errors.Is(err, syscall.ECHILD) // not waiting, it is not interrupted
		}
		pause := lookAgain
		if ended > 0 {
			pause = 0 // the next one may have ended too
		}
		alone, err := unheard(pause)
		if alone || err != nil {
			return err == nil
		}
	}
}

// lookAgain is how often it is looked whether somebody has ended who was left, in nanoseconds.
// Nobody waits for that: that nobody listens is told at once.
const lookAgain = int64(10 * time.Millisecond)

// unheard waits for as long until the other end of StatusFD is closed, and tells whether it is.
func unheard(pause int64) (bool, error) {
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: StatusFD} // of no events: that there is no other end is always told
	wait := syscall.NsecToTimespec(pause)
	n, _, e := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
	if e != 0 && e != syscall.EINTR {
		return false, e
	}
	return e == 0 && n > 0, nil
}

// letGo closes what this process still has open and has no use for: who closes a stream is to
// be the last who has it.
func letGo(s Spec) {
	for fd := range StatusFD {
		_ = syscall.Close(fd)
	}
	for _, fd := range append(s.Groups, s.Program) {
		_ = syscall.Close(fd)
	}
}

// fork starts the program as a child with the three streams, as the user that it is to be.
// By becoming that user it loses all capabilities.
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

// spareThreads is room for a thread that the Go runtime starts between the count and the program's
// start.
const spareThreads = 1

// limitProcesses bounds how many processes and threads the user of the program has in the
// namespace. Where that is the user of this process, its own threads are among them, which are to
// take nothing from the program.
func limitProcesses(s Spec) error {
	if s.Processes <= 0 {
		return nil
	}
	most := uint64(s.Processes)
	if !s.IDs {
		threads, _ := runtime.ThreadCreateProfile(nil) // of all that were started; none of them ends
		most += uint64(threads) + spareThreads
	}
	return bound(rlimitNproc, most)
}

// tell writes down how the program ended, and returns the exit code that says so.
func tell(status syscall.WaitStatus) int {
	how, number, code := Exited, status.ExitStatus(), status.ExitStatus()
	if status.Signaled() {
		how, number = Signaled, int(status.Signal())
		code = signaled + number
	}
	_, _ = syscall.Write(StatusFD, []byte(how+strconv.Itoa(number)+"\n"))
	return code
}

// defaultSignals has no signal be handled, as the Go runtime does: the kernel drops those of
// its namespace that a first process has no handler for, whatever they are.
func defaultSignals() {
	for n := uintptr(1); n <= lastSignal; n++ {
		// struct sigaction, whose first word is the handler. All of it 0 is the default.
		var was, none [4]uint64
		const ignored, maskSize = 1, 8
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, n, 0, uintptr(unsafe.Pointer(&was)), maskSize, 0, 0)
		if e == 0 && was[0] != ignored {
			_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&none)), 0, maskSize, 0, 0)
		}
	}
}
