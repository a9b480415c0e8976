package shim

import (
	"syscall"
	"unsafe"
)

// Rights of landlock(7), in the order of the versions of its interface that brought them.
const (
	llExecute  = 1 << 0
	llWrite    = 1 << 1
	llReadFile = 1 << 2
	llReadDir  = 1 << 3
	llAll1     = 1<<13 - 1 // version 1: everything up to making links
	llRefer    = 1 << 13   // 2
	llTruncate = 1 << 14   // 3
	llIoctlDev = 1 << 15   // 5
	llOfFiles  = llExecute | llWrite | llReadFile | llTruncate | llIoctlDev

	llBindTCP    = 1 << 0 // 4
	llConnectTCP = 1 << 1

	llAbstract = 1 << 0 // 6: sockets without a name in the file system
	llSignals  = 1 << 1

	llBeneath = 1 // a rule for what is below a path
)

// landlock makes rules of what l lists, as far as its version knows how. Who it is to hold
// need not be able to reach all that itself: it comes before becoming that user.
func landlock(l Landlock) (rules uintptr, err error) {
	wanted := struct{ files, network, scoped uint64 }{files: llAll1}
	for _, r := range []struct {
		since int
		right uint64
	}{{2, llRefer}, {3, llTruncate}, {5, llIoctlDev}} {
		if l.Version >= r.since {
			wanted.files |= r.right
		}
	}
	size := uintptr(8)
	if l.Version >= 4 {
		size = 16
		if !l.Network {
			wanted.network = llBindTCP | llConnectTCP
		}
	}
	if l.Version >= 6 {
		size = 24
		wanted.scoped = llAbstract | llSignals
	}
	set, _, e := syscall.Syscall(sysLandlockCreate, uintptr(unsafe.Pointer(&wanted)), size, 0)
	if e != 0 {
		return 0, failed("landlock", e)
	}
	for _, p := range l.Read {
		if err := permit(int(set), p, wanted.files&(llExecute|llReadFile|llReadDir)); err != nil {
			return 0, err
		}
	}
	for _, p := range l.Write {
		if err := permit(int(set), p, wanted.files); err != nil {
			return 0, err
		}
	}
	return set, nil
}

// hold holds this thread to the rules.
func hold(rules uintptr) error {
	if _, _, e := syscall.Syscall(sysLandlockRestrict, rules, 0, 0); e != 0 {
		return failed("landlock", e)
	}
	return syscall.Close(int(rules))
}

// permit allows rights below a path. One that is not there permits nothing.
func permit(set int, p string, rights uint64) error {
	const oPath = 0x200000
	fd, err := syscall.Open(p, oPath|syscall.O_CLOEXEC, 0)
	if err == syscall.ENOENT || err == syscall.EACCES {
		return nil
	}
	if err != nil {
		return failed("landlock: "+p, err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return failed("landlock: "+p, err)
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= llOfFiles
	}
	rule := struct {
		rights [8]byte // packed: the descriptor follows without a gap
		fd     int32
	}{fd: int32(fd)}
	*(*uint64)(unsafe.Pointer(&rule.rights)) = rights
	if _, _, e := syscall.Syscall6(sysLandlockAdd, uintptr(set), llBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return failed("landlock: "+p, e)
	}
	return nil
}
