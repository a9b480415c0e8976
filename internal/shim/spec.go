package shim

import "time"

// Spec is what the confining stage is told, as JSON on file descriptor SpecFD.
type Spec struct {
	// Ops build the file system, in order, where no engine has done so. Nil where one has.
	Ops []Op `json:"ops,omitempty"`
	// ReadOnly are file systems of its own that the engine has left writable.
	ReadOnly []string `json:"readOnly,omitempty"`
	// Loopback brings the network namespace's own loopback up.
	Loopback bool `json:"loopback,omitempty"`
	// LockProc makes read-only what of /proc changes the machine, or would tell of it: for
	// one whom the kernel takes for root, whatever rights it has.
	LockProc bool `json:"lockProc,omitempty"`
	// UID and GID are who the program is to be, where IDs says so: they are switched to.
	IDs bool `json:"ids,omitempty"`
	UID int  `json:"uid,omitempty"`
	GID int  `json:"gid,omitempty"`

	// Program is the file descriptor of the text of each File of Ops, or, without Ops, of the
	// program itself where it is to stay open: a script is opened once more by what it is
	// written for.
	Program int `json:"program,omitempty"`

	// Streams is the first of three file descriptors that are to be the three streams, 0 where
	// they are already: an engine that lives as long as the program is not to hold them open.
	Streams int `json:"streams,omitempty"`

	// Groups are the file descriptors by which it joins its control groups.
	Groups []int `json:"groups,omitempty"`

	Memory    int64 `json:"memory"`    // bytes of private memory that a process may have
	Processes int   `json:"processes"` // processes and threads of the program's in the namespace, where First; 0 for any number

	Landlock *Landlock `json:"landlock,omitempty"`
	Seccomp  []byte    `json:"seccomp,omitempty"` // struct sock_filter[]

	// First says that this process is the first of its pid namespace: the program is started
	// below it, and StatusFD is told how that ended. It stays then as long as anybody else of
	// the namespace does, or until nobody holds the other end of StatusFD.
	First bool `json:"first,omitempty"`

	Path string   `json:"path,omitempty"` // the program; "" ends well without one
	Args []string `json:"args"`           // from argv[0]
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// Op puts something at one place of the file system.
type Op struct {
	Kind  string `json:"kind"`          // one of the constants
	Src   string `json:"src,omitempty"` // of a bind, and the text of a symlink
	Dst   string `json:"dst"`
	Write bool   `json:"write,omitempty"`
	Size  int64  `json:"size,omitempty"` // of a Tmpfs, of a File, and of /dev/shm in a Dev
}

// The kinds of an Op.
const (
	Dir     = "dir"
	Tmpfs   = "tmpfs"
	Bind    = "bind"
	Symlink = "symlink"
	Empty   = "empty"
	File    = "file" // alone in its directory, read-only and executable
	Proc    = "proc"
	Dev     = "dev"
)

// Landlock is what a program may reach where there is no file system of its own. Nothing
// else can be read, written or executed. See landlock(7).
type Landlock struct {
	Read    []string `json:"read"`              // files, and directories with all below: read and execute
	Write   []string `json:"write"`             // the same, and written
	Network bool     `json:"network,omitempty"` // TCP may be used
	Version int      `json:"version"`           // of the kernel's interface: what the rules know of
}

// The file descriptors of a stage, and the further ones of the confining stage.
const (
	ProgramFD = 3 // the program that does the stage, from which it is started
	SpecFD    = 4 // the Spec is read from it
	StatusFD  = 5 // Ready is written to it when the program is started, then what went wrong if it cannot be, or how it ended
)

// How often a program is started again that is open for writing, and after how long: where
// krmcat has just written it, a process that was forked at that moment may hold it open for
// the moment until it is another program (golang.org/issue/22315).
const (
	BusyTries = 20
	BusyPause = 10 * time.Millisecond
)

// ProgramPath is where a process finds the program of ProgramFD.
const ProgramPath = "/proc/self/fd/3"

// Ready is what the confining stage writes when all that is left is to start the program.
const Ready = "ready\n"

// Exited and Signaled begin the line that says how a program ended that was started below the
// first process of a namespace. A number follows, the exit code or the signal.
const (
	Exited   = "exited "
	Signaled = "signaled "
)

// ErrnoMark stands between what went wrong and the number of the error that the system gave,
// where it gave one.
const ErrnoMark = "\x00"

// ConfineStage is the name of the confining stage, and NothingStage of one that ends well.
const (
	ConfineStage = "confine"
	NothingStage = "nothing"
)
