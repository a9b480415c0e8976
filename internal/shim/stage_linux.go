package shim

import (
	"os"
	"runtime"
)

// stage runs the stage of a name, and does not return if there is one.
func stage(name string) {
	switch name {
	case NothingStage:
		os.Exit(0)
	case ConfineStage:
		// A thread that forks blocks all signals meanwhile. If that is the first thread of PID 1, the
		// kernel does not drop a fatal signal from within the namespace, and ends the process.
		runtime.LockOSThread()
		ended := make(chan int)
		go func() { ended <- confineStage() }()
		os.Exit(<-ended)
	}
}
