package sandbox

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/scratch"
)

// Program is the text of a program of this machine's, held where nobody can change it any
// more: what is looked at here is what is started, whatever becomes of the file that it was
// read from. On Linux it lies in memory that is sealed, against this user's other processes
// too. It is safe for concurrent use.
type Program struct {
	name string // the last element of the path under which it is started
	sum  [sha256.Size]byte
	size int64
	file *os.File // sealed; nil where there is no such memory
	runs bool     // file may be started as it is
	data []byte   // instead of file
}

// Hold reads a program, and holds it. name is what it is called where it runs, a file name.
// Nothing is written to a disk.
func Hold(name string, from io.Reader) (*Program, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fmt.Errorf("holding a program: %q is no file name", name)
	}
	p := &Program{name: name}
	if err := p.seal(from); err != nil {
		return nil, fmt.Errorf("holding the program %s: %w", name, err)
	}
	if p.file == nil {
		data, err := io.ReadAll(from)
		if err != nil {
			return nil, fmt.Errorf("reading the program %s: %w", name, err)
		}
		p.data = data
	}
	// Only now: what is hashed is what is held.
	h := sha256.New()
	var err error
	if p.size, err = io.Copy(h, p.text()); err != nil {
		return nil, fmt.Errorf("reading the program %s: %w", name, err)
	}
	h.Sum(p.sum[:0])
	return p, nil
}

// SHA256 is the checksum of what is held.
func (p *Program) SHA256() [sha256.Size]byte { return p.sum }

// text reads what is held, from its beginning.
func (p *Program) text() *io.SectionReader {
	const all = 1<<63 - 1
	if p.file != nil {
		return io.NewSectionReader(p.file, 0, all)
	}
	return io.NewSectionReader(bytes.NewReader(p.data), 0, all)
}

// copyTo writes it to a file that is not there, and looks whether it is what was written.
func (p *Program) copyTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, p.text())
	if err := errors.Join(err, f.Chmod(0o555), f.Close()); err != nil {
		return err
	}
	if f, err = os.Open(path); err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, p.size+1)); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), p.sum[:]) {
		return &ExchangedError{path}
	}
	return nil
}

// ExchangedError says that somebody else wrote to a program that was about to be started.
type ExchangedError struct{ Path string }

func (e *ExchangedError) Error() string {
	return e.Path + " was exchanged before it could be started"
}

// lent is how a process that sees this machine's files as they are is started from a
// Program.
type lent struct {
	path   string
	arg0   string
	file   *os.File // the first file of the process behind its streams; nil for none
	remove func()   // once it has ended
}

// to has a process be started so.
func (l lent) to(cmd *exec.Cmd) {
	if l.arg0 != "" {
		cmd.Args[0] = l.arg0
	}
	if l.file != nil {
		cmd.ExtraFiles = []*os.File{l.file}
	}
}

// lend gives a process the program as it is held, or a copy where that cannot be started, in
// a directory of its own below temp. The error is a *scratch.Error where there is no room.
func (p *Program) lend(temp string, copied bool) (lent, error) {
	if p.runs && !copied {
		return lent{path: heldPath, arg0: p.name, file: p.file, remove: func() {}}, nil
	}
	dir, err := scratch.Make(temp)
	if err != nil {
		return lent{}, fmt.Errorf("there is no place for the program: %w", err)
	}
	path := filepath.Join(dir.Path, p.name)
	if err := p.copyTo(path); err != nil {
		dir.Remove()
		if !errors.As(err, new(*ExchangedError)) {
			err = &scratch.Error{In: filepath.Dir(dir.Path), Err: err}
		}
		return lent{}, fmt.Errorf("there is no place for the program: %w", err)
	}
	return lent{path: path, arg0: path, remove: dir.Remove}, nil
}
