//go:build !linux || !amd64 || cgo

package main

// confine has nothing to do: krmcat carries no such program here, and threads that a C library
// starts need other system calls.
func confine() {}
