package sandbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// HostOptions say what is known of this machine.
type HostOptions struct {
	// Environ is this process's environment, as KEY=VALUE: engines get it, and it tells
	// where the user's secrets are.
	Environ []string
	// Self is the absolute path of this program, which is started again inside.
	Self string
	// Ways are the ways of confining to try, in order; nil for all, AllWays.
	Ways []Way
}

// AllWays lists the ways of confining, in the order in which they are tried.
func AllWays() []Way { return []Way{Bubblewrap, Native, Crun, Runc} }

// Host is this machine, as far as confining processes goes. It finds out once what works
// here, when it is first asked. It is safe for concurrent use.
type Host struct {
	options HostOptions

	mu    sync.Mutex
	tried bool
	way   Way
	with  engine
	why   *UnconfinedError
}

// NewHost describes this machine. Nothing is tried yet.
func NewHost(o HostOptions) *Host {
	if o.Ways == nil {
		o.Ways = AllWays()
	}
	return &Host{options: o}
}

// Missing is a way of confining that does not work on this machine, and why.
type Missing struct {
	Way Way
	Err error
}

// UnconfinedError says that no way of confining works on this machine.
type UnconfinedError struct{ Missing []Missing }

func (e *UnconfinedError) Error() string {
	var parts []string
	for _, m := range e.Missing {
		parts = append(parts, fmt.Sprintf("%s: %v", m.Way, m.Err))
	}
	return "nothing here can confine a process: " + strings.Join(parts, "; ")
}

// Way returns the first way of confining that works here. The ways before it are listed
// with what is wrong with them. The error is an *UnconfinedError, or ctx's.
func (h *Host) Way(ctx context.Context) (Way, []Missing, error) {
	return "", nil, &UnconfinedError{} // not built yet
}
