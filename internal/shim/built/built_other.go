//go:build !linux || !(amd64 || arm64) || (amd64 && krmcat_joined)

package built

import "io"

// Program is nil: this build has none.
func Program() io.Reader { return nil }
