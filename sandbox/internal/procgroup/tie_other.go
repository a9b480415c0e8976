//go:build !linux

package procgroup

import "os/exec"

// Tie does nothing: on Windows the job object of Adopt ends with krmcat, and other systems have
// no such means.
func Tie(*exec.Cmd) (release func()) { return func() {} }
