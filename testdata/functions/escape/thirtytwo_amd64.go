//go:build linux

package main

import (
	"fmt"
	"syscall"
)

// getuid32 calls getuid by the entry point of 32-bit programs, which has other numbers.
func getuid32() int32

// askThirtyTwo makes a system call by an entry point that a filter may have omitted.
func askThirtyTwo() error {
	if id := getuid32(); id < 0 {
		return fmt.Errorf("32-bit getuid: %w", syscall.Errno(-id))
	}
	return nil
}
