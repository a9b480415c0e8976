//go:build !unix

package bridge

// groups reports whether this operating system can kill a whole process group.
const groups = false

// killGroup does nothing: there are no process groups.
func killGroup(int) {}
