package sandbox

import (
	"slices"
	"strings"
	"time"
)

// Request says what a function says it needs.
type Request struct {
	Network      bool     // reach beyond this machine and loopback
	StorageMount bool     // at least one mount, whichever the user gives
	HostExec     bool     // a program of this host's, started as a process
	Image        bool     // a process that sees an image's file system
	Mounts       []Mount  // mounts it names itself
	Env          []string // KEY=VALUE to set, or KEY for the user's, who has to hand it over
}

// Limits bound every function.
type Limits struct {
	Timeout time.Duration // wall clock for one call; 0 for DefaultTimeout
	Output  int64         // bytes of stdout; 0 for DefaultOutput
	Items   int           // resources that it returns; 0 for DefaultItems
	Stderr  int           // bytes of stderr kept for the error; 0 for DefaultStderr
	// The following hold for processes that are confined, and for containers.
	Memory    int64 // bytes that all processes may use, or each where no control group counts; 0 for DefaultMemory
	Processes int   // processes and threads at one time; 0 for DefaultProcesses
	Temp      int64 // bytes in /tmp, in /var/tmp, in /dev/shm, and in each tmpfs that is mounted; 0 for DefaultTemp
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

// OrDefault fills in the limits that are not set.
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

// Allow is what the user permits.
type Allow struct {
	Network       bool     // --network
	Mounts        []Mount  // --mount
	Env           []string // --env KEY or KEY=VALUE, handed to every function
	AsCurrentUser bool     // --as-current-user
	User          string   // --user UID or UID:GID, for containers; "" for nobody
	Limits        Limits
	// Host is the part of the host's environment that functions may get, as KEY=VALUE:
	// PATH, HOME, TMPDIR and LANG always, any other only where it is asked for by name.
	// The caller reads it: this package does not look at the environment.
	Host []string
	// On is the machine that processes are confined on; nil confines none.
	On *Host
	// Confine says whether programs of this machine are confined.
	Confine Confine
	// Target is the absolute path of the directory that is rendered: sources of mounts are
	// relative to it.
	Target string
	// MountAnywhere permits mounts of absolute paths, and of paths outside the target.
	MountAnywhere bool
	// Volumes says that what runs images has volumes.
	Volumes bool
}

// Confine says whether programs of this machine are confined.
type Confine string

// The values of Confine.
const (
	ConfineOff     Confine = "off"     // not at all; also what "" means
	ConfineAuto    Confine = "auto"    // as far as this machine lets us
	ConfineRequire Confine = "require" // wholly, or they are refused
)

// Grant is what a function got. Only Allow.Grant makes one that opens anything.
type Grant struct{ g *granted }

type granted struct {
	allow   Allow
	request Request
	mounts  []Mount
}

// Grant compares what a function wants with what the user allows. The error is a
// *DeniedError with every refusal.
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

// Valid reports whether Allow.Grant made it.
func (g Grant) Valid() bool { return g.g != nil }

// Limits returns the limits on the function, with the defaults filled in.
func (g Grant) Limits() Limits {
	if g.g == nil {
		return Limits{}.OrDefault()
	}
	return g.g.allow.Limits.OrDefault()
}

// Description is a Grant in words, for a plan.
type Description struct {
	Network  bool     `json:"network"`            // may reach beyond this machine
	Mounts   []Mount  `json:"mounts,omitempty"`   // what it sees of the host
	Env      []string `json:"env,omitempty"`      // names of the variables it gets beyond the usual
	Process  bool     `json:"process"`            // it is a process on this host
	Confined bool     `json:"confined,omitempty"` // what is granted is held to by force
	Partly   bool     `json:"partly,omitempty"`   // not wholly: as far as Landlock goes
}

// Describe says what was granted.
func (g Grant) Describe() Description {
	if g.g == nil {
		return Description{}
	}
	d := Description{
		Network: g.g.request.Network,
		Mounts:  slices.Clone(g.g.mounts),
		Process: g.g.request.HostExec,
		// A script inside this process has no way out of it; a process has.
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

// Lines writes the description for people, a line for each thing.
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
