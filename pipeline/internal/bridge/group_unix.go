//go:build unix

package bridge

import "syscall"

// groups reports whether this operating system can kill a whole process group.
const groups = true

// killGroup kills all processes of a group.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
