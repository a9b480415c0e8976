package shim

import "os"

// Name is what argv[0] of a process is that has one of the stages to do, or ProgramPath
// where it cannot have another name than it is started by. argv[1] is the name of the stage.
const Name = "krmcat-shim"

// The exit codes of a stage that did not become another program. What they mean is in the
// file that a stage was told to write to, if it was.
const (
	ExitUnknown = 120 // there is no such stage here
	ExitFailed  = 121 // something was refused
)

// A process that was started as a stage never gets beyond this line, whatever program it
// is: krmcat or a test.
var _ = leave(os.Args)

func leave(args []string) bool {
	if len(args) == 0 || args[0] != Name && args[0] != ProgramPath {
		return false
	}
	if len(args) > 1 {
		stage(args[1])
	}
	os.Exit(ExitUnknown)
	return true
}
