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
		first := make(chan func())
		go func() { os.Exit(confineStage(first)) }()
		for work := range first {
			work()
		}
	}
}

// firstThread runs functions on the first thread of the process.
type firstThread chan<- func()

// do runs a function there, and waits until it has ended.
func (t firstThread) do(work func()) {
	done := make(chan struct{})
	t <- func() { work(); close(done) }
	<-done
}
