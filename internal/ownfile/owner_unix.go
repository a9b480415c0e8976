//go:build unix

package ownfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// nonBlocking makes opening a pipe return at once, even if no process writes to it.
const nonBlocking = syscall.O_NONBLOCK

// LockFlag opens a file that is locked, and creates it if it is missing. It is for directories
// whose content another user chose: it does not block on a pipe, and creates nothing at the target
// of a link.
const LockFlag = os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// ownerOf returns the uid of the owner of a file.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), true
	}
	return 0, false
}

// mounted reports whether a directory is the root of a mounted file system.
func mounted(path string, info fs.FileInfo) bool {
	above, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		return false
	}
	own, ok := info.Sys().(*syscall.Stat_t)
	its, too := above.Sys().(*syscall.Stat_t)
	return ok && too && own.Dev != its.Dev
}
