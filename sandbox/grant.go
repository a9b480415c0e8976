package sandbox

import (
	"slices"
	"strings"
	"time"
)

// Request lists what a function declares that it needs.
type Request struct {
	Network      bool     // access beyond this machine's loopback interface
	StorageMount bool     // at least one mount; the user chooses which
	HostExec     bool     // a process that runs a program of this host
	Image        bool     // a process that sees the file system of an image
	Mounts       []Mount  // mounts that the function names itself
	Env          []string // KEY=VALUE to set, or KEY for the user's value, if the user allows it
}

// Limits bound each call of a function.
type Limits struct {
	Timeout time.Duration // wall clock time of one call; 0 for DefaultTimeout
	Output  int64         // bytes of stdout; 0 for DefaultOutput
	Items   int           // resources in the output; 0 for DefaultItems
	Stderr  int           // bytes of stderr that are kept for the error; 0 for DefaultStderr

	// The limits below apply to confined processes and to containers.

	// Memory is in bytes, for all processes together, or for each if there is no control
	// group; 0 for DefaultMemory.
	Memory    int64
	Processes int // processes and threads at a time; 0 for DefaultProcesses
	// Temp is in bytes, each for /tmp, /var/tmp, /dev/shm and a mounted tmpfs; 0 for DefaultTemp.
	Temp int64
}

// The defaults of Limits.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultOutput  = 64 << 20
	DefaultItems   = 100_000
	DefaultStderr  = 64 << 10

	DefaultMemory    = 2 << 30
	DefaultProcesses = 1024
	DefaultTemp      = 256 << 20
)

// OrDefault returns the limits with defaults for those that are not set.
func (l Limits) OrDefault() Limits {
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	if l.Items <= 0 {
		l.Items = DefaultItems
	}
	if l.Stderr <= 0 {
		l.Stderr = DefaultStderr
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	if l.Processes <= 0 {
		l.Processes = DefaultProcesses
	}
	if l.Temp <= 0 {
		l.Temp = DefaultTemp
	}
	return l
}

// Allow lists what the user permits.
type Allow struct {
	Network       bool     // --network
	Mounts        []Mount  // --mount
	Env           []string // --env KEY or KEY=VALUE, set for every function
	AsCurrentUser bool     // --as-current-user
	User          string   // --user UID or UID:GID, for containers; "" for nobody
	Limits        Limits
	// Host is this process's environment, as KEY=VALUE. A function gets PATH, HOME, TMPDIR and
	// LANG of it, and others only if they are requested by name. This package does not read
	// the environment itself.
	Host []string
	// On confines processes; nil confines none.
	On *Host
	// Confine says whether programs of this machine are confined.
	Confine Confine
	// Target is the absolute path of the rendered directory. Sources of mounts are relative to
	// it.
	Target string
	// MountAnywhere permits sources of mounts that are absolute or outside the target.
	MountAnywhere bool
	// Volumes means that the container engine has volumes.
	Volumes bool
}

// Confine says whether programs of this machine are confined.
type Confine string

// The values of Confine.
const (
	ConfineOff     Confine = "off"     // not confined; also what "" means
	ConfineAuto    Confine = "auto"    // confined as far as this machine can
	ConfineRequire Confine = "require" // refused unless an engine works
)

// Grant holds what a function was granted. Only Allow.Grant makes a valid one.
type Grant struct{ g *granted }

type granted struct {
	allow   Allow
	request Request
	mounts  []Mount
}

// Grant compares what a function requests with what the user allows. The error is a
// *DeniedError that lists every refusal.
func (a Allow) Grant(r Request) (Grant, error) {
	var refused []Refusal
	if r.Network && !a.Network {
		refused = append(refused, Refusal{Wants: "the network", Flag: "--network"})
	}
	mounts, more := a.mounts(r)
	refused = append(refused, more...)
	env, more := a.env(r.Env)
	if refused = append(refused, more...); len(refused) > 0 {
		return Grant{}, &DeniedError{refused}
	}
	r.Env = env
	return Grant{&granted{allow: a, request: r, mounts: mounts}}, nil
}

// Valid reports whether Allow.Grant made g.
func (g Grant) Valid() bool { return g.g != nil }

// Limits returns the limits of a call, with defaults filled in.
func (g Grant) Limits() Limits {
	if g.g == nil {
		return Limits{}.OrDefault()
	}
	return g.g.allow.Limits.OrDefault()
}

// Description describes a Grant in a plan.
type Description struct {
	Network  bool     `json:"network"`            // access beyond this machine's loopback interface
	Mounts   []Mount  `json:"mounts,omitempty"`   // what it sees of the host's file system
	Env      []string `json:"env,omitempty"`      // names of the variables beyond the default ones
	Process  bool     `json:"process"`            // it runs as a process on this host
	Confined bool     `json:"confined,omitempty"` // the grant is enforced
	Partly   bool     `json:"partly,omitempty"`   // the grant is enforced by Landlock alone
}

// Describe returns what was granted.
func (g Grant) Describe() Description {
	if g.g == nil {
		return Description{}
	}
	d := Description{
		Network: g.g.request.Network,
		Mounts:  slices.Clone(g.g.mounts),
		Process: g.g.request.HostExec,
		// A script runs inside krmcat and reaches nothing. A process has to be confined.
		Confined: !g.g.request.HostExec,
	}
	if engine := g.engine(); d.Process && engine != "" {
		d.Confined, d.Partly = engine != Landlocked, engine == Landlocked
	}
	for _, e := range g.Asked() {
		name, _, _ := strings.Cut(e, "=")
		d.Env = append(d.Env, name)
	}
	return d
}

// Lines describes the grant for people, one line for each permission.
func (d Description) Lines() []string {
	var lines []string
	if d.Network {
		lines = append(lines, "network")
	}
	for _, m := range d.Mounts {
		lines = append(lines, "mount "+m.String())
	}
	if len(d.Env) > 0 {
		lines = append(lines, "env "+strings.Join(d.Env, ", "))
	}
	switch {
	case d.Partly:
		lines = append(lines, "confined by Landlock alone")
	case d.Process && !d.Confined:
		lines = append(lines, "not confined")
	case d.Process:
		lines = append(lines, "read this machine's programs and the target")
	}
	if len(lines) == 0 {
		lines = append(lines, "nothing")
	}
	return lines
}
