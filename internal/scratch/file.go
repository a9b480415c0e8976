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

// TempPrefix is the prefix of the names of files that are being written.
const TempPrefix = ".krmcat-tmp-"

// Stale is the age at which a file that is being written counts as abandoned.
const Stale = 24 * time.Hour

// File is a file that is written as a whole. A reader sees all of it or none, and a killed process
// leaves the file that was there before.
type File struct {
	Path   string
	Mode   fs.FileMode
	Output bool   // output for the user: Mode is subject to the umask, and the file is not synced
	In     string // directory to write it in first, on the same file system; "" for its own
}

// Write replaces the file at its path. It replaces a link itself, not the target of the link.
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

// Stage writes the file beside its path, and returns the path that must be renamed to Path.
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

// SweepFiles removes the files that killed processes were writing in a directory, if the last write
// is so long ago; 0 for all.
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
