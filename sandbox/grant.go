package sandbox

import (
	"fmt"
	"strings"
	"time"
)

// Mount is one piece of the host's file system that a function sees.
type Mount struct {
	Type string // bind, volume, tmpfs
	Src  string // on the host; relative to the target
	Dst  string // in the function
	RW   bool   // read-only unless set
}

// Request says what a function says it needs.
type Request struct {
	Network      bool     // reach beyond this machine and loopback
	StorageMount bool     // at least one mount, whichever the user gives
	HostExec     bool     // a program of this host's, started as a process
	Mounts       []Mount  // mounts it names itself
	Env          []string // KEY=VALUE to set, or KEY to copy from the host
}

// Limits bound every function.
type Limits struct {
	Timeout time.Duration // wall clock for one call; 0 for DefaultTimeout
	Output  int64         // bytes of stdout; 0 for DefaultOutput
	Stderr  int           // bytes of stderr kept for the error; 0 for DefaultStderr
}

// The defaults of Limits.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultOutput  = 64 << 20
	DefaultStderr  = 64 << 10
)

// Allow is what the user permits.
type Allow struct {
	Network       bool     // --network
	Mounts        []Mount  // --mount
	Env           []string // --env KEY or KEY=VALUE, handed to every function
	AsCurrentUser bool     // --as-current-user
	Limits        Limits
	// Host is the part of the host's environment that functions get, as KEY=VALUE. The
	// caller reads it: this package does not look at the environment.
	Host []string
}

// Refusal is one thing that a function wants and may not have.
type Refusal struct {
	Wants string // "the network"
	Flag  string // "--network"
}

// DeniedError lists every refusal of one function.
type DeniedError struct{ Refusals []Refusal }

func (e *DeniedError) Error() string {
	var parts []string
	for _, r := range e.Refusals {
		parts = append(parts, fmt.Sprintf("it wants %s, which needs %s", r.Wants, r.Flag))
	}
	return strings.Join(parts, "; ")
}

// Grant is what a function got. Only Allow.Grant makes one that opens anything.
type Grant struct{ g *granted }

type granted struct {
	allow   Allow
	request Request
}
