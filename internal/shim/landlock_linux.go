package shim

import (
	"syscall"
	"unsafe"
)

// Access rights of landlock(7), with the version of the interface that added them.
const (
	llExecute  = 1 << 0
	llWrite    = 1 << 1
	llReadFile = 1 << 2
	llReadDir  = 1 << 3
	llAll1     = 1<<13 - 1 // version 1: all up to LANDLOCK_ACCESS_FS_MAKE_SYM
	llRefer    = 1 << 13   // 2
	llTruncate = 1 << 14   // 3
	llIoctlDev = 1 << 15   // 5
	llOfFiles  = llExecute | llWrite | llReadFile | llTruncate | llIoctlDev

	llBindTCP    = 1 << 0 // 4
	llConnectTCP = 1 << 1

	llAbstract = 1 << 0 // 6: abstract Unix sockets
	llSignals  = 1 << 1

	llBeneath = 1 // LANDLOCK_RULE_PATH_BENEATH
)

// landlock makes a ruleset for l, with what its version supports. It is made before the switch
// to another user, who may not be able to open these paths.
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

// hold applies a ruleset to this thread.
func hold(rules uintptr) error {
	if _, _, e := syscall.Syscall(sysLandlockRestrict, rules, 0, 0); e != 0 {
		return failed("landlock", e)
	}
	return syscall.Close(int(rules))
}

// permit allows rights below a path. It ignores a missing path.
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
		rights [8]byte // packed: the descriptor follows without padding
		fd     int32
	}{fd: int32(fd)}
	*(*uint64)(unsafe.Pointer(&rule.rights)) = rights
	if _, _, e := syscall.Syscall6(sysLandlockAdd, uintptr(set), llBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return failed("landlock: "+p, e)
	}
	return nil
}
