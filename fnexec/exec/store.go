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

// store is the cache of programs: <cache>/exec/sha256/<hex>/<name>.
type store struct {
	dir  string
	warn func(string) // called if a cached program was changed
}

// usable reports whether dir is absolute. A relative one would depend on the working directory.
func (s store) usable() bool { return filepath.IsAbs(s.dir) }

func (s store) path(d digest.Digest, name string) string {
	return filepath.Join(cachedir.Programs.Path(s.dir, d), fileName(name))
}

// fileName returns the base name of a publisher's name for a program, or a default name if it has
// none.
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

// private refuses a cache in which other users can write to this program. A cache that cannot be
// used for another reason is not refused: nothing from it is run. The error is a
// *cachedir.ForeignError.
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

// find returns the cached program if it has its digest; nil otherwise. It warns of a changed file.
// What is returned is the content that was hashed, not a path.
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
		s.warn(fmt.Sprintf("%s in the cache was changed: the program is read from its source again", s.path(d, name)))
		_ = os.Remove(s.path(d, name)) // so that the warning is given once
		return nil
	}
	cachedir.Used(cachedir.Programs.Path(s.dir, d))
	return p
}

// sumOf returns the digest of a held program.
func sumOf(p *sandbox.Program) digest.Digest {
	sum := p.SHA256()
	return digest.NewDigestFromBytes(digest.SHA256, sum[:])
}

// put adds a program to the cache and returns it. The file appears as a whole or not at all. A
// failure to write is ignored: the cache only saves work. The error is a *cachedir.ForeignError,
// or one of holding the program.
func (s store) put(data []byte, name string) (*sandbox.Program, error) {
	d := digest.FromBytes(data)
	if err := s.private(d, name); err != nil {
		return nil, err
	}
	if p := s.find(d, name); p != nil {
		return p, nil
	}
	if path := s.path(d, name); s.usable() && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = write(data, path) // Windows cannot replace a running program
	}
	p, err := sandbox.Hold(fileName(name), bytes.NewReader(data))
	if err == nil && sumOf(p) != d {
		err = &sandbox.ExchangedError{Path: name}
	}
	return p, err
}

// write makes a program appear at p as a whole.
func write(data []byte, p string) error {
	if info, err := os.Lstat(p); err == nil && info.IsDir() {
		_ = os.Remove(p) // a file cannot replace an empty directory
	}
	return scratch.File{Path: p, Mode: 0o555}.Write(data)
}
