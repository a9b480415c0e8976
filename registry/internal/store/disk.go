package store

import (
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// Disk opens plain files only: reading a pipe would block, and a device has no end.
type Disk struct {
	// Below is the directory, absolute and without links, that files must be in or below after
	// links are resolved; "" for no restriction.
	Below string
}

// Open opens a plain file. It resolves links first and then opens the result relative to Below
// without following links out of it, so that a path that changes meanwhile does not lead outside.
func (d Disk) Open(path string) (*os.File, error) {
	if d.Below == "" {
		return ownfile.Open(path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return ownfile.OpenBelow(d.Below, real)
}

// Read reads a plain file of at most limit bytes. The error is that of Open or of the disk, or
// bounded.ErrMore.
func (d Disk) Read(path string, limit int64) ([]byte, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.Read(f, limit)
}
