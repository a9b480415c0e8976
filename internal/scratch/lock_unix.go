//go:build linux || darwin

package scratch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockName is the file in a directory that is locked while the directory is used.
const lockName = "lock"

// staleAfter is the age at which a directory without a lock counts as abandoned: a process makes a
// directory before it locks it.
const staleAfter = time.Minute

// tries is how often a directory is made again after another process removed the directory above
// it.
const tries = 100

// makeLocked makes a directory in that of this user, and locks it for this process. It returns nil
// if that fails: a directory without a lock must not be removed.
func makeLocked(in string) *Dir {
	above := filepath.Join(in, prefix+strconv.Itoa(os.Geteuid()))
	for range tries {
		if err := os.Mkdir(above, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil
		}
		own, err := openOwn(above)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil
		}
		d, err := lockedIn(own, above, "")
		if err == nil {
			d.above = above
			sweep(own, "")
		}
		_ = own.Close()
		if !swept(err) {
			return d
		}
	}
	return nil
}

// makeBelow makes a directory in another one, locks it for this process, and sweeps the other one.
// It returns nil if that fails.
func makeBelow(dir, begins string) *Dir {
	in, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = in.Close() }()
	for range tries {
		d, err := lockedIn(in, dir, begins)
		if err == nil {
			sweep(in, begins)
		}
		if !swept(err) {
			return d
		}
	}
	return nil
}

// swept reports whether another process removed a directory as abandoned before it was locked.
func swept(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EWOULDBLOCK)
}

// lockedIn makes a directory and locks it.
func lockedIn(own *os.Root, above, begins string) (*Dir, error) {
	path, err := os.MkdirTemp(above, begins)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(filepath.Base(path), lockName)
	lock, err := lockOf(own, name, os.O_CREATE)
	if err == nil && !isAt(own, name, lock) { // the locked directory was removed
		_ = lock.Close()
		err = os.ErrNotExist
	}
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, err
	}
	return &Dir{Path: path, lock: lock}, nil
}

var errForeign = errors.New("it does not belong to this user")

// openOwn opens a directory that belongs to this user and that no other user can write to.
func openOwn(path string) (*os.Root, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	// It is checked before it is opened: to open a pipe of another user could block for ever.
	if !private(info) {
		return nil, errForeign
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !(os.SameFile(info, opened) && private(opened)) {
		err = errForeign
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// private reports whether only this user can write to a directory.
func private(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// isAt reports whether an open file is the one at a name.
func isAt(own *os.Root, name string, f *os.File) bool {
	opened, err := f.Stat()
	now, nowErr := own.Lstat(name)
	return errors.Join(err, nowErr) == nil && os.SameFile(opened, now)
}

// lockOf locks a directory by a file in it, which flag may create. It fails if another process
// holds the lock.
func lockOf(own *os.Root, name string, flag int) (*os.File, error) {
	f, err := own.OpenFile(name, flag|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, os.NewSyscallError("flock", err)
	}
	return f, nil
}

// LockIn waits for the lock of a file in an open directory, and creates the file if it is missing.
// No link leads out of the directory. The lock ends with the call of unlock or with this process.
// The error is that of ctx, or the reason why there is no lock.
func LockIn(ctx context.Context, in *os.Root, name string) (unlock func(), err error) {
	for {
		f, err := lockOf(in, name, os.O_CREATE)
		if err == nil && isAt(in, name, f) {
			return func() { _ = f.Close() }, nil
		}
		if err == nil { // another process removed it
			_ = f.Close()
			err = syscall.EWOULDBLOCK
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// sweep removes what killed processes left behind: directories of one prefix whose lock nobody
// holds, or that have no lock and are not new.
func sweep(own *os.Root, begins string) {
	dir, err := own.Open(".")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		info, err := own.Lstat(name)
		if err != nil || !info.IsDir() || !strings.HasPrefix(name, begins) {
			continue
		}
		lock, err := lockOf(own, filepath.Join(name, lockName), 0)
		switch {
		case errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) >= staleAfter:
			_ = own.RemoveAll(name)
		case err == nil:
			_ = own.RemoveAll(name)
			_ = lock.Close()
		} // otherwise another process uses it, or is about to
	}
}
