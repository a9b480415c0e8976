//go:build unix

package bridge

import "syscall"

// groups tells whether processes have groups that are ended as a whole.
const groups = true

// killGroup ends all processes of a group.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
