package sandbox

import (
	// Every program that confines can be started again as a shim.
	_ "github.com/krmcat/krmcat/internal/shim"
)
