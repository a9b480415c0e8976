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

// Leave does the stage that a process was started for, and ends it. It returns where it was started
// for none. It is the first line of every program that may be started for one: krmcat and tests.
func Leave(args []string) {
	if len(args) == 0 || args[0] != Name && args[0] != ProgramPath {
		return
	}
	if len(args) > 1 {
		stage(args[1])
	}
	os.Exit(ExitUnknown)
}
