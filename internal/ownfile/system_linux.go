package ownfile

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stRDONLY is ST_RDONLY of statfs(2).
const stRDONLY = 1

// readOnly reports whether a path is on a file system that is mounted read-only, as those of
// ConfigMaps are: their directories have the mode 0777. For a link it is the file system of the
// link itself.
func readOnly(path string) bool {
	fd, err := syscall.Open(path, oPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(fd) }()
	var s syscall.Statfs_t
	return syscall.Fstatfs(fd, &s) == nil && s.Flags&stRDONLY != 0
}

// waits reports whether a file may be one of the kernel, such as /proc/kmsg, that has the type of a
// regular file and blocks its readers.
func waits(f *os.File) bool {
	const procfs, tracefs, debugfs = 0x9fa0, 0x74726163, 0x64626720
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var s syscall.Statfs_t
	if raw.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &s) }) != nil || err != nil {
		return false
	}
	return s.Type == procfs || s.Type == tracefs || s.Type == debugfs
}

// oPath is O_PATH: the file is not opened for reading.
const oPath = 0x200000

// unmapped reports whether a uid is the one that a user namespace has for all users it does not
// know. The root of the machine is one of them, and owns / and /home.
func unmapped(uid int) bool {
	return uid == overflow() && !everybody("/proc/self/uid_map")
}

// overflow is the uid of that user.
func overflow() int {
	const usual = 65534
	data, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return usual
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
		return n
	}
	return usual
}

// everybody reports whether a namespace maps every uid, as that of the machine does.
func everybody(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return true // the kernel has no user namespaces
	}
	defer func() { _ = f.Close() }()
	lines, known := bufio.NewScanner(f), int64(0)
	for lines.Scan() {
		var first, below, count int64
		if n, _ := fmt.Sscan(lines.Text(), &first, &below, &count); n == 3 {
			known += count
		}
	}
	const all = 1<<32 - 1
	return known >= all
}
