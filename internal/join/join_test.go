package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestRefusals: what cannot be loaded side by side is not joined. That what is joined runs is for
// TestBuild in e2e/process to show.
func TestRefusals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: this test is no ELF file here")
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
