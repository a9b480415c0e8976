package image

import (
	"errors"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/cachedir"
)

// NoCacheError reports that there is no cache in which an image can be unpacked and run.
type NoCacheError struct {
	Reason string
	Err    error // of the disk; nil for none
}

// Error names the reason.
func (e *NoCacheError) Error() string {
	msg := "there is no cache to unpack images into: " + e.Reason
	if e.Err != nil {
		msg += e.Err.Error()
	}
	return msg
}

// Unwrap returns the error of the disk.
func (e *NoCacheError) Unwrap() error { return e.Err }

// usable refuses a cache that other users can write to, or whose file system is mounted with
// noexec.
//
// Errors: *cachedir.ForeignError, *NoCacheError.
func (s *Store) usable(final string) error {
	if err := s.private(final); err != nil {
		return err
	}
	if noExec(s.dir) {
		return &NoCacheError{Reason: "the cache " + s.cache + " is on a file system that allows no programs (noexec)"}
	}
	return nil
}

// private refuses a cache in which other users can write to one image.
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
