//go:build linux

package main

import (
	"fmt"
	"syscall"
)

// getuid32 is getuid by the entry of 32-bit programs, whose calls have other numbers.
func getuid32() int32

// askThirtyTwo asks the kernel by a door that a filter of calls may have forgotten.
func askThirtyTwo() error {
	if id := getuid32(); id < 0 {
		return fmt.Errorf("32-bit getuid: %w", syscall.Errno(-id))
	}
	return nil
}
