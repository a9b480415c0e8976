//go:build !linux

package sandbox

import "context"

// newEngine has none to make: nothing is confined here.
func newEngine(Way, HostOptions) (engine, error) { return nil, errNotLinux{} }

type errNotLinux struct{}

func (errNotLinux) Error() string { return "it needs Linux" }

func haveLandlock() bool { return false }

func (Grant) landlocked(context.Context, Cmd, Streams) (bool, error) { return false, nil }
