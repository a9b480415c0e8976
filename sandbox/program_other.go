//go:build !linux

package sandbox

import "io"

// heldPath and programDir are used on Linux only.
const heldPath, programDir = "", ""

// seal does nothing: the program stays in this process's own memory.
func (p *Program) seal(io.Reader) error { return nil }
