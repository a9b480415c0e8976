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

// heldPath is the path of the first extra file of a process, as the process sees it.
const heldPath = "/proc/self/fd/3"

// programDir is the directory in which a confined process sees its held program, as a copy in
// memory of its own.
const programDir = "/run/krmcat"

// seal keeps a program in an anonymous file in memory that can no longer be changed. p.file is
// nil if the kernel has no such files.
func (p *Program) seal(from io.Reader) error {
	p.runs = true
	f, err := memory(p.name, bytes.NewReader(nil), unix.MFD_EXEC|unix.MFD_ALLOW_SEALING)
	if errors.Is(err, syscall.EACCES) { // vm.memfd_noexec: such a file can be read, but not started
		p.runs = false
		f, err = memory(p.name, bytes.NewReader(nil), unix.MFD_NOEXEC_SEAL|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		p.runs = false
		return nil //nolint:nilerr // the caller keeps it in its own memory
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

// sealUp makes an anonymous file immutable. It fails if the file is mapped as writable.
func sealUp(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	return os.NewSyscallError("fcntl", err)
}

// again opens the file once more, with an offset of its own.
func (p *Program) again() (*os.File, error) {
	return os.Open("/proc/self/fd/" + strconv.Itoa(int(p.file.Fd())))
}

// script reports whether the program is not an ELF file: the kernel then starts an interpreter,
// which opens the program by its path.
func (p *Program) script() bool {
	head := make([]byte, len(elf.ELFMAG))
	n, _ := io.ReadFull(p.text(), head)
	return string(head[:n]) != elf.ELFMAG
}

// nextFD returns the first file descriptor of a stage after those that it always has.
func nextFD(g *group) int {
	next := shim.StatusFD + 1
	if g != nil {
		next += len(g.procs)
	}
	return next
}

// closeAll closes the extra files of a process.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
