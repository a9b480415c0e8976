package exec

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/scratch"
)

// store keeps programs under their digest: <cache>/exec/sha256/<hex>/<name>.
type store struct{ dir string }

// usable tells a directory from none, and from one that would be wherever we happen to be.
func (s store) usable() bool { return filepath.IsAbs(s.dir) }

func (s store) path(d digest.Digest, name string) string {
	return filepath.Join(cachedir.Programs.Path(s.dir, d), fileName(name))
}

// fileName is the last element of what a publisher calls a program, or a plain name
// where that is none.
func fileName(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	clean := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune(`:*?"<>|`, r) {
			return '_'
		}
		return r
	}, base)
	if strings.Trim(clean, "./") == "" || len(clean) > 128 {
		return "function"
	}
	return clean
}

// find returns the program if it is there and has its digest: a file that somebody or
// something changed is as good as none.
func (s store) find(d digest.Digest, name string) (string, bool) {
	if !s.usable() {
		return "", false
	}
	p := s.path(d, name)
	info, err := os.Lstat(p)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
		return "", false
	}
	f, err := os.Open(p)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", false
	}
	if digest.NewDigest(digest.SHA256, h) != d {
		return p, false
	}
	cachedir.Used(cachedir.Programs.Path(s.dir, d))
	return p, true
}

// put writes a program and returns where it is. It is there as a whole or not at all,
// whatever interrupts us.
func (s store) put(data []byte, name string) (string, error) {
	if !s.usable() {
		return "", errors.New("there is no cache directory to put the program into")
	}
	d := digest.FromBytes(data)
	if p, ok := s.find(d, name); ok {
		return p, nil
	}
	p := s.path(d, name)
	dir := filepath.Dir(p)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making room for the program: %w", err)
	}
	if err := write(data, p); err != nil {
		// Windows does not replace a program that runs: then another of us put it there.
		if p, ok := s.find(d, name); ok {
			return p, nil
		}
		return "", fmt.Errorf("writing the program: %w", err)
	}
	return p, nil
}

// write makes a program appear at p.
func write(data []byte, p string) error {
	tmp, err := os.CreateTemp(filepath.Dir(p), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already if all went well
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o555), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if info, err := os.Lstat(p); err == nil && info.IsDir() {
		_ = os.Remove(p) // a file does not replace a directory; one with something in it stays
	}
	return os.Rename(tmp.Name(), p)
}

// copies lays a program down for one call at a time, in a directory that nobody else can
// read, where the cache cannot keep it.
type copies struct {
	dir      string // to make directories in
	name     string
	data     []byte
	uncached error // why it is not in the cache
}

// make writes a copy. remove takes it away again, after the process that it became.
func (c *copies) make() (path string, remove func(), err error) {
	dir, err := scratch.Make(c.dir)
	if err != nil {
		return "", nil, fmt.Errorf("there is no place for the program: %w", errors.Join(c.uncached, err))
	}
	path = filepath.Join(dir.Path, fileName(c.name))
	if err := write(c.data, path); err != nil {
		dir.Remove()
		return "", nil, fmt.Errorf("there is no place for the program: %w", errors.Join(c.uncached, &scratch.Error{In: filepath.Dir(dir.Path), Err: err}))
	}
	return path, dir.Remove, nil
}
