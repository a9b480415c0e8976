//go:build !linux || !(amd64 || arm64)

package built

// Program is nil: this build has none.
func Program() []byte { return nil }
