//go:build amd64 || arm64

package built

import "embed"

// program reads the program out of a directory of this package.
func program(files embed.FS, dir string) []byte {
	data, err := files.ReadFile(dir + "/stage")
	if err != nil {
		return nil // not built before
	}
	return data
}
