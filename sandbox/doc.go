// Package sandbox answers: how far may a function reach?
//
// It computes what a function may access on this host: the intersection of what the function
// requests and what the user allows. It enforces the result. The result, Grant, is a key: no
// other package can make one, and it is the only way to start a function's process. The
// package hides process groups, environments and how processes are killed.
//
// The first engine that works on this machine confines a process. The process sees the root
// file system of an image, or the system directories of this machine and the target
// (docs/sandbox.md). If nothing confines a process, a child of it that leaves the process
// group (setsid) is not killed with it, and cancelling waits half a second for the pipes that
// the child holds.
//
// What a function is, where it came from and whether it is trusted never go in. No other
// package imports os/exec.
package sandbox
