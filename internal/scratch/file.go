package scratch

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// TempPrefix begins the names of files that are being written.
const TempPrefix = ".krmcat-tmp-"

// Stale is the age at which a file that is being written is taken for a dead process's.
const Stale = 24 * time.Hour

// File is a file that is written as a whole: a reader sees all of it or nothing, and who is killed
// leaves what was there before.
type File struct {
	Path   string
	Mode   fs.FileMode
	Output bool   // for the user: the umask takes its part of Mode, and nobody waits for the disk
	In     string // where it is written first: a directory of the same file system; "" for its own
}

// Write puts the file in the place of what has its path: a link is replaced itself.
func (f File) Write(data []byte) error {
	temp, err := f.Stage(data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, f.Path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

// Stage writes the file beside its place, and returns the path that is to be renamed to Path.
func (f File) Stage(data []byte) (temp string, err error) {
	in := f.In
	if in == "" {
		in = filepath.Dir(f.Path)
	}
	temp = filepath.Join(in, TempPrefix+rand.Text())
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return "", err
	}
	_, err = out.Write(data)
	if !f.Output {
		err = errors.Join(err, out.Chmod(f.Mode), out.Sync())
	}
	if err := errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	return temp, nil
}

// SweepFiles removes the files that killed processes were writing in a directory: those that were
// last written to so long ago; 0 for all.
func SweepFiles(dir string, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		if age > 0 && time.Since(info.ModTime()) < age {
			continue
		}
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
