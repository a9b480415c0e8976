package cachedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// ForeignError says that somebody else could have put into the cache what is to be run from
// it, or could change it there: nothing in such a cache is run.
type ForeignError struct {
	Path   string // of a directory, file or link in the cache, or on the way to it
	Reason string
	Fix    string // what to do about it
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the cache is not this user's alone: %s %s: %s", e.Path, e.Reason, e.Fix)
}

const ownCache = "set KRMCAT_CACHE_DIR to a directory of your own (krmcat makes one that is not there)"

// Private refuses a cache in which others than this user and root can write, or which they
// could lead elsewhere, as far as some paths in it are concerned: what lies there is vouched
// for by who alone could have put it there. The way to the cache is the user's choice and may
// have links; below it krmcat makes none. What is not there is not refused: krmcat makes it,
// or says why it cannot.
//
// Errors: *ForeignError, or the disk's.
func Private(cache string, below ...string) error {
	mine := ownfile.Mine().OnVolumes()
	_, err := mine.Way(cache)
	if errors.Is(err, fs.ErrNotExist) {
		err = mine.Room(cache)
	}
	if err != nil {
		return foreign(err)
	}
	for _, path := range below {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return &ForeignError{path, "is a link", "remove it, or " + ownCache}
		}
		if err := mine.Own(path, info); err != nil {
			return foreign(err)
		}
	}
	return nil
}

// foreign says what to do about what is refused.
func foreign(err error) error {
	var not *ownfile.ForeignError
	switch {
	case errors.Is(err, syscall.ENOTDIR): // which is no cache, and holds nothing
		return nil
	case !errors.As(err, &not):
		return err
	case not.Owner < 0:
		return &ForeignError{not.Path, not.Reason(), "chmod go-w it, or " + ownCache}
	}
	return &ForeignError{not.Path, not.Reason(), ownCache}
}
