package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The offsets of the fields that are changed, in the header of a 64-bit ELF file.
const (
	offProgs     = 32 // e_phoff
	offSections  = 40 // e_shoff
	offProgCount = 56 // e_phnum
	progSize     = 56
	sectionSize  = 64
)

// page is the alignment of segments in the file: the largest page size of the processor.
const page = 64 << 10

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: join OUT PROGRAM PART...: writes all in one file")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "join:", err)
		os.Exit(1)
	}
}

func run(out, program string, parts []string) error {
	all, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	for _, path := range parts {
		part, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if all, err = join(all, part); err != nil {
			return fmt.Errorf("%s and %s: %w", program, path, err)
		}
	}
	return replace(out, all)
}

// replace writes a file and renames it, so that another writer of the same name cannot mix with it.
func replace(out string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*.new")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // if it was not renamed
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o755), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}

// join appends a part to a program. The table that the system maps then has the segments of both.
func join(program, part []byte) ([]byte, error) {
	own, err := read(program)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	added, err := read(part)
	if err != nil {
		return nil, fmt.Errorf("the part: %w", err)
	}
	if own.Machine != added.Machine {
		return nil, fmt.Errorf("one is for %s, the other for %s", own.Machine, added.Machine)
	}
	_, top := span(own)
	bottom, _ := span(added)
	if bottom < (top+page-1)/page*page {
		return nil, fmt.Errorf("they overlap in memory: one ends at %#x, the other begins at %#x", top, bottom)
	}
	le := binary.LittleEndian
	out := bytes.Clone(program)
	// The table of segments grows over the table of sections, which loading does not need.
	sections := le.Uint64(out[offSections:])
	le.PutUint64(out[offSections:], uint64(len(out)))
	out = append(out, out[sections:sections+uint64(len(own.Sections))*sectionSize]...)
	out = append(out, make([]byte, (page-len(out)%page)%page)...)
	base := uint64(len(out))
	table := le.Uint64(out[offProgs:])
	count := uint64(le.Uint16(out[offProgCount:]))
	for _, p := range added.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		at := table + count*progSize
		if at+progSize > firstSection(own) {
			return nil, errors.New("the header has no room for another segment")
		}
		le.PutUint32(out[at:], uint32(p.Type))
		le.PutUint32(out[at+4:], uint32(p.Flags))
		for i, v := range []uint64{base + p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz, p.Align} {
			le.PutUint64(out[at+8+uint64(i)*8:], v)
		}
		count++
	}
	le.PutUint16(out[offProgCount:], uint16(count)) //nolint:gosec // the room was checked above
	return append(out, part...), nil
}

// read reads an executable with fixed addresses.
func read(data []byte) (*elf.File, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, err
	case f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB || f.Type != elf.ET_EXEC:
		return nil, fmt.Errorf("it is a %s %s %s, not a 64-bit executable at a fixed address", f.Class, f.Data, f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return nil, errors.New("it is dynamically linked")
		}
	}
	return f, nil
}

// span returns the addresses in memory where a program begins and ends.
func span(f *elf.File) (bottom, top uint64) {
	bottom = ^uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			bottom, top = min(bottom, p.Vaddr), max(top, p.Vaddr+p.Memsz)
		}
	}
	return bottom, top
}

// firstSection returns the offset of the first byte after the header.
func firstSection(f *elf.File) uint64 {
	first := ^uint64(0)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NULL && s.Type != elf.SHT_NOBITS {
			first = min(first, s.Offset)
		}
	}
	return first
}
