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
	lastCap     = 63 // more than any kernel has: the end is where it says EINVAL

	rlimitNproc = 6
	openFiles   = 4096
)

// confine makes this process the program of the Spec, held to what the Spec says. It
// returns only where that could not be done.
func confine() error {
	runtime.LockOSThread() // what is set below is this thread's, and the program becomes it
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
	// Now: a program that takes memory to be shown is no use of it that the function makes.
	if err := join(spec.Groups); err != nil {
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

// place makes the file system that the program sees, where no engine has, and keeps the
// program open where it is not to have a name in it.
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

// start tells that all is ready, and starts the program.
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

// untilFree starts a program, again where it is open for writing.
func untilFree(start func() error) error {
	for try := 1; ; try++ {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || try == BusyTries {
			return err
		}
		pause := syscall.NsecToTimespec(int64(BusyPause))
		// Not by package time, which may want another thread.
		_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
}

// failed says what did not work.
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

// closeRest has nothing reach the program but the three streams, whatever else came along.
func closeRest() error {
	_, _, e := syscall.RawSyscall(sysCloseRange, ProgramFD, uintptr(^uint32(0)), closeRangeCloexec)
	if e == 0 {
		return nil
	}
	return closeListed() // before Linux 5.11
}

// closeListed is closeRest by the list of what is open.
func closeListed() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return failed("looking for open files", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= ProgramFD {
			syscall.CloseOnExec(fd) // one that is gone, of the list itself, does no harm
		}
	}
	return nil
}

// takeStreams has the files from a descriptor on be the three streams.
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

// join makes this process one of its control groups, by their files.
func join(groups []int) error {
	for _, fd := range groups {
		if _, err := syscall.Write(fd, []byte("0")); err != nil {
			return failed("joining the control group", err)
		}
	}
	return nil
}

// limit bounds what the program may use up, but for processes: limitProcesses.
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

// bound sets one limit, or leaves it where it is lower.
func bound(what int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(what, &now); err != nil {
		return failed("limits", err)
	}
	value := min(most, now.Max)
	// Not by syscall.Setrlimit, which keeps books of its own on open files.
	r := syscall.Rlimit{Cur: value, Max: value}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(what), uintptr(unsafe.Pointer(&r)), 0, 0, 0); e != 0 {
		return failed("limit "+strconv.Itoa(what), e)
	}
	return nil
}

// become drops every capability and switches to the user. The first process of a namespace
// stays who it is, and keeps what it takes to start the program as that user: then nobody in
// the namespace can reach it, and whoever started it can end it.
func become(s Spec) error {
	for c := uintptr(0); c <= lastCap; c++ {
		if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapBSetDrop, c, 0, 0, 0, 0); e == syscall.EINVAL {
			break
		}
		// Whoever may not drop them has none that an exec could give back.
	}
	keep := uint32(0)
	if s.IDs {
		giveStreams(s.UID, s.GID)
		// Nothing is lost where there are no groups to drop, or no right to.
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

// switchTo becomes a user, for good.
func switchTo(uid, gid int) error {
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); e != 0 {
		return failed("becoming group "+strconv.Itoa(gid), e)
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
		return failed("becoming user "+strconv.Itoa(uid), e)
	}
	return nil
}

// capabilities drops all but those of a mask, which are among the first 32.
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

// giveStreams has the pipes that the program has for streams be its user's, who could not
// open them by their names otherwise: a script's /dev/stderr. Where it may not be, they can
// be used all the same. What is no pipe is not krmcat's to give.
func giveStreams(uid, gid int) {
	for fd := range ProgramFD {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO {
			_ = syscall.Fchown(fd, uid, gid)
		}
	}
}

// lock is what cannot be taken back: no new privileges, and what the kernel refuses.
func lock(s Spec, rules uintptr) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return failed("no new privileges", e)
	}
	// Switching the user has undone what our parent asked for.
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

// loopback brings the interface up that every network namespace has. Who does not need it
// does not miss it.
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

// confineStage is what the dispatcher calls. What went wrong is told on StatusFD.
func confineStage() int {
	err := confine()
	said := err.Error()
	var number syscall.Errno
	if errors.As(err, &number) {
		said += ErrnoMark + strconv.Itoa(int(number))
	}
	_, _ = syscall.Write(StatusFD, []byte(said))
	return 1
}
