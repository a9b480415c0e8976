package shim

import "os"

// stage does one stage, and does not return where there is one of that name.
func stage(name string, args []string) {
	switch name {
	case "host":
		host(args)
	case ConfineStage:
		os.Exit(confineStage())
	}
}
