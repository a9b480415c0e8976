package built

import (
	"embed"
	"io"
)

//go:embed all:linux_arm64
var files embed.FS

// Program returns the program that runs a stage, as an ELF file; nil if this build has none.
func Program() io.Reader { return program(files, "linux_arm64") }
