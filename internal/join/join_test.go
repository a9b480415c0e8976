package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestRefusals checks that programs that cannot be loaded together are not joined. TestBuild in
// e2e/process checks that joined programs run.
func TestRefusals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the program of this test is no ELF file")
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	with := func(at int, value uint16) []byte {
		data := bytes.Clone(self)
		binary.LittleEndian.PutUint16(data[at:], value)
		return data
	}
	const offType, offMachine, shared, riscv = 16, 18, 3, 243
	for want, part := range map[string][]byte{
		"they overlap in memory":  self,
		"bad magic number":        []byte("#!/bin/sh\n          "),
		"not a 64-bit executable": with(offType, shared),
		"one is for":              with(offMachine, riscv),
	} {
		if _, err := join(with(offType, 2), part); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
