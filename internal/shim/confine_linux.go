package shim

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have.
const (
	sysLandlockCreate   = 444
	sysLandlockAdd      = 445
	sysLandlockRestrict = 446
	sysMountSetattr     = 442
	sysCloseRange       = 436

	prCapBSetDrop     = 24
	prSetNoNewPrivs   = 38
	prSetSeccomp      = 22
	prCapAmbient      = 47
	prCapAmbientClear = 4
	seccompModeFilter = 2

	closeRangeCloexec = 4

	capVersion3 = 0x20080522
	capSetGID   = 6
	capSetUID   = 7
	lastCap     = 63 // more than any kernel has: the loop ends at EINVAL

	rlimitNproc = 6
	openFiles   = 4096
)

// confine makes this process the program of the Spec, with all the restrictions of the Spec. It
// returns only an error.
func confine(first firstThread) error {
	runtime.LockOSThread() // the restrictions below are of this thread, which becomes or starts the program
	if err := closeRest(); err != nil {
		return err
	}
	spec, err := readSpec()
	if err != nil {
		return err
	}
	if err := takeStreams(spec.Streams); err != nil {
		return err
	}
	if err := place(spec); err != nil {
		return err
	}
	// Now, so that memory for mounting the program does not count as the function's.
	if err := join(spec.Groups, first); err != nil {
		return err
	}
	for _, dir := range spec.ReadOnly {
		const how = syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY | quiet
		if err := syscall.Mount("", dir, "", how, ""); err != nil {
			return failed("making "+dir+" read-only", err)
		}
	}
	if spec.Loopback {
		loopback()
	}
	if spec.LockProc {
		if err := lockProc(); err != nil {
			return err
		}
	}
	if err := limit(spec); err != nil {
		return err
	}
	if err := syscall.Chdir(spec.Dir); err != nil {
		return failed("the working directory "+spec.Dir, err)
	}
	var rules uintptr
	if spec.Landlock != nil {
		if rules, err = landlock(*spec.Landlock); err != nil {
			return err
		}
	}
	if err := become(spec); err != nil {
		return err
	}
	if err := lock(spec, rules); err != nil {
		return err
	}
	return start(spec)
}

// place makes the file system of the program, if the engine has not, and keeps the program open
// if it has no path in it.
func place(spec Spec) error {
	if spec.Ops != nil {
		if err := build(spec.Ops, spec.Program); err != nil {
			return err
		}
		_ = syscall.Sethostname([]byte("krmcat"))
		return nil
	}
	if spec.Program == 0 {
		return nil
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(spec.Program), syscall.F_SETFD, 0); e != 0 {
		return failed("keeping the program open", e)
	}
	return nil
}

// start reports that all is ready, and starts the program.
func start(s Spec) error {
	_, err := syscall.Write(StatusFD, []byte(Ready))
	if err != nil {
		return failed("telling that all is ready", err)
	}
	switch {
	case s.Path == "":
		os.Exit(tell(0))
	case s.First:
		err = startBelow(s)
	default:
		err = untilFree(func() error { return syscall.Exec(s.Path, s.Args, s.Env) })
	}
	return failed("starting "+s.Path, err)
}

// untilFree calls start again as long as the executable is open for writing.
func untilFree(start func() error) error {
	for try := 1; ; try++ {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || try == BusyTries {
			return err
		}
		pause := syscall.NsecToTimespec(int64(BusyPause))
		// Package time may need another thread.
		_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
}

// failed wraps the error of a step.
func failed(what string, err error) error { return &failure{what, err} }

type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func readSpec() (Spec, error) {
	var s Spec
	f := os.NewFile(SpecFD, "spec")
	data, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil {
		return s, failed("reading what to do", err)
	}
	if s, err = decode(data); err != nil {
		return s, failed("reading what to do", err)
	}
	return s, nil
}

// closeRest closes all files in the program but the three streams.
func closeRest() error {
	_, _, e := syscall.RawSyscall(sysCloseRange, ProgramFD, uintptr(^uint32(0)), closeRangeCloexec)
	if e == 0 {
		return nil
	}
	return closeListed() // before Linux 5.11
}

// closeListed is closeRest by the list of open files.
func closeListed() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return failed("looking for open files", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= ProgramFD {
			syscall.CloseOnExec(fd) // the descriptor of the list itself is closed already
		}
	}
	return nil
}

// takeStreams makes the files from a descriptor on the standard streams.
func takeStreams(first int) error {
	if first == 0 {
		return nil
	}
	for fd := range ProgramFD {
		if err := syscall.Dup3(first+fd, fd, 0); err != nil {
			return failed("taking the streams", err)
		}
		_ = syscall.Close(first + fd)
	}
	return nil
}

// join adds this process to its control groups, by their files. With version 1 that adds the thread
// that writes: this one, whose children join too, and the first, to which the memory of the process
// belongs. To add another thread than itself, the kernel waits for all processors.
func join(groups []int, first firstThread) error {
	var err error
	enter := func() {
		for _, fd := range groups {
			if _, e := syscall.Write(fd, []byte("0")); e != nil && err == nil {
				err = failed("joining the control group", e)
			}
		}
	}
	enter()
	first.do(enter)
	return err
}

// limit sets the resource limits, except for processes: limitProcesses.
func limit(s Spec) error {
	for _, l := range []struct {
		what  int
		value uint64
	}{
		{syscall.RLIMIT_DATA, uint64(s.Memory)},
		{syscall.RLIMIT_CORE, 0},
		{syscall.RLIMIT_NOFILE, openFiles},
	} {
		if err := bound(l.what, l.value); err != nil {
			return err
		}
	}
	return nil
}

// bound lowers one resource limit. It never raises one.
func bound(what int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(what, &now); err != nil {
		return failed("limits", err)
	}
	value := min(most, now.Max)
	// syscall.Setrlimit does more: it records the limit on open files.
	r := syscall.Rlimit{Cur: value, Max: value}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(what), uintptr(unsafe.Pointer(&r)), 0, 0, 0); e != 0 {
		return failed("limit "+strconv.Itoa(what), e)
	}
	return nil
}

// become drops all capabilities and switches to the user. PID 1 of a namespace stays its user
// and keeps the capabilities that it needs to start the program as that user. The program then
// cannot access it, and krmcat can kill it.
func become(s Spec) error {
	for c := uintptr(0); c <= lastCap; c++ {
		if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapBSetDrop, c, 0, 0, 0, 0); e == syscall.EINVAL {
			break
		}
		// Without the right to drop them, there are none that an exec could restore.
	}
	keep := uint32(0)
	if s.IDs {
		giveStreams(s.UID, s.GID)
		// Without groups, or without the right to drop them, nothing is lost.
		_, _, e := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0)
		if e != 0 && e != syscall.EPERM {
			return failed("dropping groups", e)
		}
		if s.First {
			keep = 1<<capSetGID | 1<<capSetUID
		} else if err := switchTo(s.UID, s.GID); err != nil {
			return err
		}
	}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClear, 0, 0, 0, 0); e != 0 {
		return failed("dropping ambient capabilities", e)
	}
	return capabilities(keep)
}

// switchTo switches to a user for good.
func switchTo(uid, gid int) error {
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); e != 0 {
		return failed("becoming group "+strconv.Itoa(gid), e)
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
		return failed("becoming user "+strconv.Itoa(uid), e)
	}
	return nil
}

// capabilities drops all capabilities except for those in a mask of the first 32.
func capabilities(keep uint32) error {
	header := struct {
		version uint32
		pid     int32
	}{version: capVersion3}
	var kept [2]struct{ effective, permitted, inheritable uint32 }
	kept[0].effective, kept[0].permitted = keep, keep
	if _, _, e := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&kept)), 0); e != 0 {
		return failed("dropping capabilities", e)
	}
	return nil
}

// giveStreams makes the program's user the owner of pipes that are its streams. Without that a
// script could not open them as /dev/stderr. Failure is ignored: the streams can be used anyway.
// Streams that are not pipes are not krmcat's.
func giveStreams(uid, gid int) {
	for fd := range ProgramFD {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO {
			_ = syscall.Fchown(fd, uid, gid)
		}
	}
}

// lock applies what cannot be undone: no new privileges, Landlock and the seccomp filter.
func lock(s Spec, rules uintptr) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return failed("no new privileges", e)
	}
	// Switching the user has cleared the parent death signal.
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0, 0); e != 0 {
		return failed("ending with krmcat", e)
	}
	if s.Landlock != nil {
		if err := hold(rules); err != nil {
			return err
		}
	}
	if len(s.Seccomp) == 0 {
		return nil
	}
	const filterSize = 8
	program := struct {
		length uint16
		filter *byte
	}{uint16(len(s.Seccomp) / filterSize), &s.Seccomp[0]}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&program)), 0, 0, 0); e != 0 {
		return failed("the filter of system calls", e)
	}
	return nil
}

// loopback brings up the loopback interface of the network namespace. Failure is ignored: not every
// program needs it.
func loopback() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	_ = syscall.Close(fd)
}

// confineStage runs confine. It reports an error on StatusFD.
func confineStage(first firstThread) int {
	err := confine(first)
	said := err.Error()
	var number syscall.Errno
	if errors.As(err, &number) {
		said += ErrnoMark + strconv.Itoa(int(number))
	}
	_, _ = syscall.Write(StatusFD, []byte(said))
	return 1
}
