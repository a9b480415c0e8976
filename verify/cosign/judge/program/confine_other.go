//go:build !linux || !amd64 || cgo

package main

// confine does nothing: krmcat carries no such program here, and threads started by a C library
// need other system calls.
func confine() {}
