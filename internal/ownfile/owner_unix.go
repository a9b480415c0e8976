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
