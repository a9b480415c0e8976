package sandbox

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
)

// heldPath is where a process finds the first file that it was given behind its streams.
const heldPath = "/proc/self/fd/3"

// programDir is where a confined process sees the program that it is, if that is held: a
// file like any other, in memory of its own.
const programDir = "/run/krmcat"

// seal keeps a program in memory that nobody can write to any more. Where the system has no
// such memory there is no file.
func (p *Program) seal(from io.Reader) error {
	p.runs = true
	f, err := memory(p.name, bytes.NewReader(nil), unix.MFD_EXEC|unix.MFD_ALLOW_SEALING)
	if errors.Is(err, syscall.EACCES) { // vm.memfd_noexec: it can be held there, not started
		p.runs = false
		f, err = memory(p.name, bytes.NewReader(nil), unix.MFD_NOEXEC_SEAL|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		p.runs = false
		return nil //nolint:nilerr // it is held in another way
	}
	if _, err := io.Copy(f, from); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := sealUp(f); err != nil {
		return errors.Join(err, f.Close())
	}
	p.file = f
	return nil
}

// sealUp has a file of memory never change again. It fails where somebody could still write
// to it.
func sealUp(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	return os.NewSyscallError("fcntl", err)
}

// again opens it once more, for who reads it from where it stands.
func (p *Program) again() (*os.File, error) {
	return os.Open("/proc/self/fd/" + strconv.Itoa(int(p.file.Fd())))
}

// script tells what the system starts another program for, which opens it by its name.
func (p *Program) script() bool {
	head := make([]byte, len(elf.ELFMAG))
	n, _ := io.ReadFull(p.text(), head)
	return string(head[:n]) != elf.ELFMAG
}

// nextFD is the number of the first file of a stage behind its own.
func nextFD(g *group) int {
	next := shim.StatusFD + 1
	if g != nil {
		next += len(g.procs)
	}
	return next
}

// closeAll closes files that a process was given.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
