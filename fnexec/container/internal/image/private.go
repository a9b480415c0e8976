package image

import (
	"errors"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/cachedir"
)

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
// Errors: *cachedir.ForeignError, *NoCacheError.
func (s *Store) usable(final string) error {
	if err := s.private(final); err != nil {
		return err
	}
	if noExec(s.dir) {
		return &NoCacheError{Reason: "the cache " + s.cache + " is on a file system from which nothing may be run (noexec)"}
	}
	return nil
}

// private refuses a cache in which others than this user can write, as far as one image is
// concerned.
//
// Errors: *cachedir.ForeignError, *NoCacheError.
func (s *Store) private(final string) error {
	err := cachedir.Private(s.cache, filepath.Dir(s.dir), s.dir,
		final, filepath.Join(final, rootDir), filepath.Join(final, indexFile), filepath.Join(final, configFile))
	if err == nil || errors.As(err, new(*cachedir.ForeignError)) {
		return err
	}
	return &NoCacheError{Err: err}
}
