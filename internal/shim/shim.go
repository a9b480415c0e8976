package shim

import "os"

// Name is argv[0] of a process that runs a stage. It is ProgramPath if the process cannot be given
// another name. argv[1] is the name of the stage.
const Name = "krmcat-shim"

// The exit codes of a stage that did not become another program. A confining stage writes the
// error to StatusFD.
const (
	ExitUnknown = 120 // there is no such stage
	ExitFailed  = 121 // the stage failed
)

// Leave runs the stage for which this process was started, and exits. It returns if there is
// none. It must be the first statement of main, in krmcat and in tests.
func Leave(args []string) {
	if len(args) == 0 || args[0] != Name && args[0] != ProgramPath {
		return
	}
	if len(args) > 1 {
		stage(args[1])
	}
	os.Exit(ExitUnknown)
}
