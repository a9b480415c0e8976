//go:build !linux || !(amd64 || arm64)

package built

import "io"

// Program is nil: this build has none.
func Program() io.Reader { return nil }
