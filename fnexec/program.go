package fnexec

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// ProgramError says that the program of a function is not there, or cannot be started. It
// is found out before anything runs.
type ProgramError struct {
	Image   string // that it should be in, "" for this machine
	Program string // as it is named where the function is declared
	Reason  string
}

func (e *ProgramError) Error() string {
	msg := fmt.Sprintf("program %q: %s", e.Program, e.Reason)
	if e.Image != "" {
		msg = "image " + e.Image + ": " + msg
	}
	return msg
}

// Executable refuses what cannot be a program. The reason is in words of people.
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
