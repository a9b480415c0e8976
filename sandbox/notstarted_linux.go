package sandbox

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// explained returns a better error for a program that was not started. The kernel returns only
// an errno, so the file is looked at: ENOENT may mean that its interpreter is missing. A nil
// view is the whole machine.
func explained(j job, err error) error {
	view, called := j.view, j.path
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOEXEC) {
		return err
	}
	if view == nil {
		view = []op{{kind: opBind, src: "/", dst: "/"}}
	}
	var text io.ReaderAt
	if j.program != nil {
		text, called = j.program.text(), j.program.name
	} else if f := openSeen(view, j.path); f != nil {
		defer func() { _ = f.Close() }()
		text = f
	}
	if text == nil {
		return err
	}
	if why := unstartable(view, called, text); why != nil {
		return why
	}
	return err
}

// openSeen opens the file that a view shows as the program; nil if that is not certain.
func openSeen(view []op, program string) *os.File {
	real, err := seen(view, program)
	if err != nil {
		return nil
	}
	f, err := os.Open(real)
	if err != nil {
		return nil
	}
	return f
}

// unstartable returns why a program with this content cannot be started; nil if unknown.
func unstartable(view []op, program string, f io.ReaderAt) error {
	head := make([]byte, 256) // as much as the kernel reads
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	var err error
	interpreter, role := "", "which its first line names"
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		line, _, _ := strings.Cut(string(head[2:]), "\n")
		if fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); len(fields) > 0 {
			interpreter = fields[0]
		}
		if strings.HasSuffix(interpreter, "\r") {
			role = "since its first line ends in a carriage return, as Windows ends lines"
		}
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		interpreter, err = loader(f)
		role = "which loads the libraries that it needs"
	default:
		err = errors.New("it is neither a script with a #! line nor a program for this machine")
	}
	if err != nil {
		return &systemError{fmt.Sprintf("starting %s: %v", program, err), syscall.ENOEXEC}
	}
	if !path.IsAbs(interpreter) {
		return nil
	}
	if _, err := seen(view, interpreter); errors.Is(err, fs.ErrNotExist) {
		there := "there is"
		own := slices.ContainsFunc(view, func(o op) bool { return o.kind == opBind && o.src == o.dst })
		if _, err := os.Stat(interpreter); err == nil && own {
			there = "it sees" // this machine has one, but the function does not see it
		}
		return &systemError{fmt.Sprintf("starting %s: %s no %s, %s", program, there, quoted(interpreter), role), syscall.ENOENT}
	}
	return nil
}

// quoted quotes a name that has characters a terminal does not show.
func quoted(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// loader returns the dynamic loader of a program; "" if it has none or is of a kind that is not
// read.
func loader(f io.ReaderAt) (string, error) {
	ident := make([]byte, elf.EI_NIDENT)
	if _, err := f.ReadAt(ident, 0); err != nil {
		return "", errors.New("it is truncated")
	}
	machine, ok := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if !ok || elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32 {
		return "", nil
	}
	var h elf.Header64
	if err := readAt(f, 0, &h); err != nil || elf.Class(ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return "", errors.New("it is not a program for this machine")
	}
	if m := elf.Machine(h.Machine); m != machine {
		return "", fmt.Errorf("it is a program for another machine: %v", m)
	}
	for i := range int64(h.Phnum) {
		var p elf.Prog64
		if err := readAt(f, int64(h.Phoff)+i*int64(h.Phentsize), &p); err != nil { //nolint:gosec // a negative offset fails
			return "", errors.New("it is truncated")
		}
		if elf.ProgType(p.Type) != elf.PT_INTERP || p.Filesz > uint64(maxPath) {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := f.ReadAt(name, int64(p.Off)); err != nil { //nolint:gosec // a negative offset fails
			return "", errors.New("it is truncated")
		}
		return strings.TrimRight(string(name), "\x00"), nil
	}
	return "", nil
}

// maxPath bounds a path, in bytes.
const maxPath = 4096

func readAt(f io.ReaderAt, at int64, to any) error {
	return binary.Read(io.NewSectionReader(f, at, int64(binary.Size(to))), binary.NativeEndian, to)
}

// maxLinks bounds the links in a path.
const maxLinks = 40

// seen returns the file of this machine that a view shows at p.
func seen(view []op, p string) (string, error) {
	rest := strings.Split(strings.Trim(p, "/"), "/")
	at, real, links := "/", "", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." || name == "." || name == "" {
			at = path.Join(at, name)
			continue
		}
		next := path.Join(at, name)
		text, link, file, err := look(view, next)
		switch {
		case err != nil:
			return "", err
		case !link:
			at, real = next, file
			continue
		case links == maxLinks:
			return "", errors.New("too many links")
		}
		links++
		if path.IsAbs(text) {
			at = "/"
		}
		rest = append(strings.Split(strings.Trim(text, "/"), "/"), rest...)
	}
	if real == "" {
		return "", fmt.Errorf("%s is no file of this machine", p)
	}
	return real, nil
}

// look returns what a view shows at one path: the text of a link, or a file of this machine. No
// parent of the path is a link.
func look(view []op, p string) (text string, link bool, file string, err error) {
	for i := len(view) - 1; i >= 0; i-- {
		o := view[i]
		switch {
		case o.kind == opSymlink && o.dst == p:
			return o.src, true, "", nil
		case within(o.dst, p) && o.dst != p:
			return "", false, "", nil // a parent directory of an op
		case !within(p, o.dst):
			continue
		case o.kind != opBind:
			if p == o.dst {
				return "", false, "", nil
			}
			if o.kind == opDir || o.kind == opTmpfs {
				return "", false, "", &fs.PathError{Op: "looking for", Path: p, Err: fs.ErrNotExist}
			}
			return "", false, "", fmt.Errorf("%s is no file of this machine", p)
		}
		file := filepath.Join(o.src, strings.TrimPrefix(p, o.dst))
		info, err := os.Lstat(file)
		if err != nil {
			return "", false, "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 && p != o.dst {
			text, err := os.Readlink(file)
			return text, true, "", err
		}
		return "", false, file, nil
	}
	return "", false, "", &fs.PathError{Op: "looking for", Path: p, Err: fs.ErrNotExist}
}
