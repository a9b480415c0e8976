package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CacheError says that somebody else could have put an image into the cache, or changed one
// there: nothing in such a cache is run.
type CacheError struct {
	Path   string // of a directory or file in the cache
	Reason string
	Fix    string // what to do about it
}

func (e *CacheError) Error() string {
	return fmt.Sprintf("the cache of images is not this user's alone: %s %s: %s", e.Path, e.Reason, e.Fix)
}

// NoCacheError says that there is no cache in which an image can be unpacked and run.
type NoCacheError struct {
	Reason string
	Err    error // of the disk, nil for none
}

func (e *NoCacheError) Error() string {
	msg := "there is no cache to unpack images into: " + e.Reason
	if e.Err != nil {
		msg += e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *NoCacheError) Unwrap() error { return e.Err }

// usable refuses a cache from which an image may not be run: it is not this user's alone,
// or its file system is one from which nothing is run.
//
// Errors: *CacheError, *NoCacheError.
func (s *images) usable(final string) error {
	if err := s.private(final); err != nil {
		return err
	}
	if noExec(s.dir) {
		return &NoCacheError{Reason: "the cache " + s.cache + " is on a file system from which nothing may be run (noexec)"}
	}
	return nil
}

// private refuses a cache in which others than this user can write, as far as one image is
// concerned: what lies unpacked is vouched for by who alone could have written it. The way
// to the cache is the user's choice and may have links; below it krmcat makes none.
//
// Errors: *CacheError, *NoCacheError.
func (s *images) private(final string) error {
	ways := []struct {
		path string
		stat func(string) (fs.FileInfo, error)
	}{
		{s.cache, os.Stat},
		{filepath.Dir(s.dir), os.Lstat},
		{s.dir, os.Lstat},
		{final, os.Lstat},
		{filepath.Join(final, rootDir), os.Lstat},
		{filepath.Join(final, indexFile), os.Lstat},
		{filepath.Join(final, configFile), os.Lstat},
	}
	for _, w := range ways {
		info, err := w.stat(w.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // krmcat makes it, or says why it cannot
		}
		if err != nil {
			return &NoCacheError{Err: err}
		}
		if err := onlyOurs(w.path, info); err != nil {
			return err
		}
	}
	return nil
}

// onlyOurs refuses a place that somebody else can change.
func onlyOurs(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return &CacheError{path, "is a link", "remove it, or " + ownCache}
	}
	owner, ok := ownerOf(info)
	switch {
	case !ok: // no such owners and modes here
	case owner != os.Geteuid():
		return &CacheError{path, fmt.Sprintf("belongs to user %d, and this is user %d", owner, os.Geteuid()), ownCache}
	case info.Mode().Perm()&0o022 != 0:
		return &CacheError{path, fmt.Sprintf("can be written to by others (%v)", info.Mode()), "chmod go-w it, or " + ownCache}
	}
	return nil
}

const ownCache = "set KRMCAT_CACHE_DIR to a directory of your own (krmcat makes one that is not there)"
