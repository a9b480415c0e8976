package exec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/sandbox"
)

// store keeps programs under their digest: <cache>/exec/sha256/<hex>/<name>.
type store struct {
	dir  string
	warn func(string) // what somebody changed there
}

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

// private refuses a cache in which others than this user can write, as far as one program is
// concerned. One that cannot be used for another reason is not refused: it holds nothing that
// would be run. The error is a *cachedir.ForeignError.
func (s store) private(d digest.Digest, name string) error {
	if !s.usable() {
		return nil
	}
	dir := cachedir.Programs.Dir(s.dir, d.Algorithm())
	err := cachedir.Private(s.dir, filepath.Dir(dir), dir, cachedir.Programs.Path(s.dir, d), s.path(d, name))
	if errors.As(err, new(*cachedir.ForeignError)) {
		return err
	}
	return nil
}

// find returns the program if it is there and has its digest: a file that somebody or
// something changed is as good as none, but for a warning. What is returned is what was hashed,
// and no path.
func (s store) find(d digest.Digest, name string) *sandbox.Program {
	if !s.usable() {
		return nil
	}
	f, err := ownfile.Open(s.path(d, name))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	p, err := sandbox.Hold(fileName(name), io.LimitReader(f, maxProgram))
	if err != nil {
		return nil
	}
	if sumOf(p) != d {
		s.warn(fmt.Sprintf("%s in the cache is not the program that was put there: it is read anew from where it comes", s.path(d, name)))
		_ = os.Remove(s.path(d, name)) // so that it is told of once
		return nil
	}
	cachedir.Used(cachedir.Programs.Path(s.dir, d))
	return p
}

// sumOf is the digest of what is held.
func sumOf(p *sandbox.Program) digest.Digest {
	sum := p.SHA256()
	return digest.NewDigestFromBytes(digest.SHA256, sum[:])
}

// put writes a program for the next time, and returns it. It is there as a whole or not at
// all, whatever interrupts us, and not where the cache takes nothing: a cache saves work and
// permits nothing. The error is a *cachedir.ForeignError, or what keeps a program from being
// held.
func (s store) put(data []byte, name string) (*sandbox.Program, error) {
	d := digest.FromBytes(data)
	if err := s.private(d, name); err != nil {
		return nil, err
	}
	if p := s.find(d, name); p != nil {
		return p, nil
	}
	if path := s.path(d, name); s.usable() && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = write(data, path) // Windows does not replace a program that runs
	}
	p, err := sandbox.Hold(fileName(name), bytes.NewReader(data))
	if err == nil && sumOf(p) != d {
		err = &sandbox.ExchangedError{Path: name}
	}
	return p, err
}

// write makes a program appear at p.
func write(data []byte, p string) error {
	if info, err := os.Lstat(p); err == nil && info.IsDir() {
		_ = os.Remove(p) // a file does not replace a directory; one with something in it stays
	}
	return scratch.File{Path: p, Mode: 0o555}.Write(data)
}
