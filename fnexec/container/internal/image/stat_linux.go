package image

import (
	"io/fs"
	"syscall"
)

// identity returns what changes when a file is written to or replaced: the time of its last
// change, in nanoseconds, and the inode.
func identity(info fs.FileInfo) (ctime int64, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}

// noExec reports whether a directory's file system is mounted with noexec. It returns false if the
// directory does not exist.
func noExec(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && s.Flags&stNoExec != 0
}

// stNoExec is ST_NOEXEC of statfs(2).
const stNoExec = 8
