package starlark

import "github.com/krmcat/krmcat/fnexec"

// WithGrowth is a loaded script that may take so many bytes of memory: what it may take
// otherwise is more than a test should.
func WithGrowth(r fnexec.Runner, bytes uint64) fnexec.Runner {
	limited := *r.(*runner)
	limited.growth = bytes
	return &limited
}
