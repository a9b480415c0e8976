//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/krmcat/krmcat/internal/failure"
)

// place tells a stateDir from a copy of it: nobody who writes a file for others knows its inode.
func (s *state) place() (string, error) {
	info, err := s.in.Stat(".")
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return s.in.Name(), nil
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // it has another type on macOS
	}
	return 1
}

// chownLike gives a file the owner and the group of another one, if it has others.
func chownLike(f *os.File, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == want.Uid && has.Gid == want.Gid {
		return nil
	}
	if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
		return failure.NotPermitted.Mark(fmt.Errorf("the file belongs to user %d and group %d, and this user cannot write one for them: %w", want.Uid, want.Gid, err))
	}
	return nil
}

// otherVolume reports whether two paths are on different file systems.
func otherVolume(err error) bool { return errors.Is(err, syscall.EXDEV) }
