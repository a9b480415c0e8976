//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// place tells a stateDir from one elsewhere.
func (s *state) place() (string, error) { return s.in.Name(), nil }

// names returns 1: names are not counted on this system.
func names(fs.FileInfo) uint64 { return 1 }

// chownLike does nothing: a file belongs to who writes it on this system.
func chownLike(*os.File, fs.FileInfo) error { return nil }

// otherVolume returns false: a rename that fails says why.
func otherVolume(error) bool { return false }
