//go:build (amd64 && !krmcat_joined) || arm64

package built

import (
	"embed"
	"io"
)

// program opens the program in a directory of this package; nil if it was not built.
func program(files embed.FS, dir string) io.Reader {
	f, err := files.Open(dir + "/stage")
	if err != nil {
		return nil
	}
	return f // in memory: it need not be closed
}
