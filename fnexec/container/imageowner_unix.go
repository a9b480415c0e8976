//go:build unix

package container

import (
	"io/fs"
	"syscall"
)

// ownerOf is the number of the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), true
	}
	return 0, false
}
