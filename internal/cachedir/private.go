package cachedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// ForeignError reports that another user could have put programs into the cache, or could change
// them: no program of such a cache is run.
type ForeignError struct {
	Path   string // directory, file or link in the cache, or above it
	Reason string
	Fix    string // what to do about it
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the cache is not this user's alone: %s %s: %s", e.Path, e.Reason, e.Fix)
}

const ownCache = "set KRMCAT_CACHE_DIR to a directory of your own (krmcat makes one that is not there)"

// Private refuses a cache that other users than this one and root can write to, or could redirect.
// It checks some paths of the cache: what is there is trusted because nobody else could have put it
// there. The path of the cache itself is the user's choice and may have links. Below it krmcat
// makes none. A missing path is not refused: krmcat makes it, or reports why it cannot.
//
// Errors: *ForeignError, or that of the file system.
func Private(cache string, below ...string) error {
	mine := ownfile.Mine().OnVolumes()
	_, err := mine.Resolve(cache)
	if errors.Is(err, fs.ErrNotExist) {
		err = mine.CheckNew(cache)
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
		if err := mine.CheckOwner(path, info); err != nil {
			return foreign(err)
		}
	}
	return nil
}

// foreign adds to a refusal what to do about it.
func foreign(err error) error {
	var not *ownfile.ForeignError
	switch {
	case errors.Is(err, syscall.ENOTDIR): // no cache, so it has no entries
		return nil
	case !errors.As(err, &not):
		return err
	case not.Owner < 0:
		return &ForeignError{not.Path, not.Reason(), "chmod go-w it, or " + ownCache}
	}
	return &ForeignError{not.Path, not.Reason(), ownCache}
}
