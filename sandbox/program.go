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

// Program holds the content of a program where it cannot be changed. What was hashed is what
// is started, whatever happens to the file that it was read from. On Linux the content is in
// sealed memory, which other processes of this user cannot change either. It is safe for
// concurrent use.
type Program struct {
	name string // the base name of the path by which it is started
	sum  [sha256.Size]byte
	size int64
	file *os.File // sealed; nil if the system has no such memory
	runs bool     // file can be started without a copy
	data []byte   // the content, if file is nil
}

// Hold reads a program into memory. name is its base name when it runs. Nothing is written to
// a disk. The error is one of reading, or of the system.
func Hold(name string, from io.Reader) (*Program, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fmt.Errorf("holding a program: %q is not a file name", name)
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
	// Hashed after it was sealed, so that the checksum is of what is started.
	h := sha256.New()
	var err error
	if p.size, err = io.Copy(h, p.text()); err != nil {
		return nil, fmt.Errorf("reading the program %s: %w", name, err)
	}
	h.Sum(p.sum[:0])
	return p, nil
}

// SHA256 returns the checksum of the content.
func (p *Program) SHA256() [sha256.Size]byte { return p.sum }

// text reads the content from its beginning.
func (p *Program) text() *io.SectionReader {
	const all = 1<<63 - 1
	if p.file != nil {
		return io.NewSectionReader(p.file, 0, all)
	}
	return io.NewSectionReader(bytes.NewReader(p.data), 0, all)
}

// copyTo writes the content to a new file, and checks what was written.
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

// ExchangedError reports that another process changed a program before it was started.
type ExchangedError struct{ Path string }

// Error names the file.
func (e *ExchangedError) Error() string {
	return e.Path + " was changed before it could be started"
}

// lent says how an unconfined process is started from a Program.
type lent struct {
	path   string
	arg0   string
	file   *os.File // the first extra file of the process; nil for none
	remove func()   // called after the process has ended
}

// to makes cmd start the program.
func (l lent) to(cmd *exec.Cmd) {
	if l.arg0 != "" {
		cmd.Args[0] = l.arg0
	}
	if l.file != nil {
		cmd.ExtraFiles = []*os.File{l.file}
	}
}

// lend returns the program in memory, or a copy below temp if it cannot be started from there or
// copied is set. The error is a *scratch.Error if the copy cannot be written.
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
