package image

import (
	"io/fs"
	"syscall"
)

// identity returns what changes when a file is written to or replaced: the time of its last
// change, in nanoseconds, and the inode.
func identity(info fs.FileInfo) (ctime int64, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec.Nano(), s.Ino
	}
	return 0, 0
}

// noExec returns false: container engines run images on this system.
func noExec(string) bool { return false }
