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

// readOnly tells whether nobody can write to a path because of how its file system is
// mounted, as those that hold a ConfigMap are: their directories have the mode 0777. Of a
// link it tells of the place that the link stands in.
func readOnly(path string) bool {
	fd, err := syscall.Open(path, oPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(fd) }()
	var s syscall.Statfs_t
	return syscall.Fstatfs(fd, &s) == nil && s.Flags&stRDONLY != 0
}

// waits tells whether a file may be one of the kernel's own that says that it is plain and has
// who reads it wait until there is something to tell, as /proc/kmsg does.
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

// oPath is O_PATH: to look, and no more.
const oPath = 0x200000

// unmapped tells whether a user is the one that stands, in a user namespace, for all that
// it does not know. There the root of the machine is such a one, to whom / and /home belong.
func unmapped(uid int) bool {
	return uid == overflow() && !everybody("/proc/self/uid_map")
}

// overflow is the number of that user.
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

// everybody tells whether a namespace knows every user there is: the machine's own does.
func everybody(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return true // no such namespaces
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
