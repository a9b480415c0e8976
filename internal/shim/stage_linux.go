package shim

import "os"

// stage runs the stage of a name, and does not return if there is one.
func stage(name string) {
	switch name {
	case NothingStage:
		os.Exit(0)
	case ConfineStage:
		os.Exit(confineStage())
	}
}
