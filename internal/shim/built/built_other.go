//go:build !linux || !(amd64 || arm64) || (amd64 && krmcat_joined)

package built

import "io"

// Program returns nil: this build has no such program.
func Program() io.Reader { return nil }
