// Package sandbox answers: how far may a function reach?
//
// It decides what a function may touch on this host, as the intersection of what the
// function asks for and what the user allows, and holds it to that. Its answer, Grant,
// is a key: no other package can make one, and it is the only way to start a
// function's process. It hides process groups, environments and kill orders.
//
// A process is confined by the first engine that works on this machine. It sees an image's
// file system, or what programs need of this machine's and the target: docs/sandbox.md. Where nothing confines it, a process that it
// starts and that leaves the group (setsid) is not killed with it: it is left behind, and
// cancelling waits half a second for the pipes that it holds.
//
// What a function is, where it came from and whether it is trusted never go in. No
// other package imports os/exec.
package sandbox
