package fnexec

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// ProgramError reports that the program of a function does not exist or cannot be started. It is
// found before anything runs.
type ProgramError struct {
	Image   string // the image that should contain it; "" for this machine
	Program string // its name in the function's declaration
	Reason  string
}

// Error names the program and the image.
func (e *ProgramError) Error() string {
	msg := fmt.Sprintf("program %q: %s", e.Program, e.Reason)
	if e.Image != "" {
		msg = "image " + e.Image + ": " + msg
	}
	return msg
}

// Executable returns why a file of this mode cannot be a program; nil if it can.
func Executable(mode fs.FileMode) error {
	switch {
	case mode.IsDir():
		return errors.New("it is a directory")
	case !mode.IsRegular():
		return errors.New("it is not a file")
	case mode.Perm()&0o111 == 0 && runtime.GOOS != "windows":
		return errors.New("it is not executable")
	}
	return nil
}
