package starlark

import "github.com/krmcat/krmcat/fnexec"

// WithGrowth loads a script that may use so many bytes of memory: the default is too much for a
// test.
func WithGrowth(r fnexec.Runner, bytes uint64) fnexec.Runner {
	limited := *r.(*runner)
	limited.growth = bytes
	return &limited
}
