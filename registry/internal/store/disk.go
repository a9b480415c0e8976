package store

import (
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// Disk opens plain files of this machine: a pipe would hang, a device would not end.
type Disk struct {
	// Below is the directory, absolute and without links, that files have to be in or below
	// wherever their links lead; "" for none.
	Below string
}

// Open opens a plain file. Its links are followed first, and what they lead to is then found
// from the directory on, where no link leads out of it: nobody comes in between.
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

// Read reads a plain file of at most limit bytes. The error is Open's, the disk's, or bounded.ErrMore.
func (d Disk) Read(path string, limit int64) ([]byte, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.Read(f, limit)
}
