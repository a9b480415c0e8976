//go:build unix

package ownfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// nonBlocking has a pipe opened at once, whether anybody writes to it or not.
const nonBlocking = syscall.O_NONBLOCK

// LockFlag opens a file that is locked, and makes it where it is missing: for who locks in a
// directory whose content somebody else chose. It waits for nobody who would write to a pipe, and
// makes nothing where a link leads.
const LockFlag = os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// ownerOf is the number of the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), true
	}
	return 0, false
}

// mounted tells whether a directory is the root of a file system that is mounted there.
func mounted(path string, info fs.FileInfo) bool {
	above, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		return false
	}
	own, ok := info.Sys().(*syscall.Stat_t)
	its, too := above.Sys().(*syscall.Stat_t)
	return ok && too && own.Dev != its.Dev
}
