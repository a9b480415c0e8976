package shim

import "time"

// Spec tells the confining stage what to do. It is JSON in the file of descriptor SpecFD.
type Spec struct {
	// Ops build the file system, in order; nil if the engine has built it.
	Ops []Op `json:"ops,omitempty"`
	// ReadOnly lists mounts that the engine has left writable, to be made read-only.
	ReadOnly []string `json:"readOnly,omitempty"`
	// Loopback brings up the loopback interface of the network namespace.
	Loopback bool `json:"loopback,omitempty"`
	// LockProc makes read-only, or hides, the files of /proc by which a process that the kernel
	// takes for root could change the machine or learn about it, even without capabilities.
	LockProc bool `json:"lockProc,omitempty"`
	// UID and GID are the user and group to switch to, if IDs is set.
	IDs bool `json:"ids,omitempty"`
	UID int  `json:"uid,omitempty"`
	GID int  `json:"gid,omitempty"`

	// Program is the descriptor with the content of each File in Ops. Without Ops it is the program
	// itself, if it must stay open: the interpreter of a script opens the script once more.
	Program int `json:"program,omitempty"`

	// Streams is the first of three descriptors that become the standard streams; 0 if the streams
	// are in place. An engine that lives as long as the program must not hold them.
	Streams int `json:"streams,omitempty"`

	// Groups are the descriptors of the files by which the stage joins its control groups.
	Groups []int `json:"groups,omitempty"`

	Memory int64 `json:"memory"` // bytes of private memory of each process
	// Processes bounds the processes and threads of the program in its namespace, if First; 0
	// for no limit.
	Processes int `json:"processes"`

	Landlock *Landlock `json:"landlock,omitempty"`
	Seccomp  []byte    `json:"seccomp,omitempty"` // struct sock_filter[]

	// First means that this process is PID 1 of its namespace. It starts the program as a child and
	// reports its end on StatusFD. It lives until all other processes of the namespace have ended,
	// or the other end of StatusFD is closed.
	First bool `json:"first,omitempty"`

	Path string   `json:"path,omitempty"` // the program; "" for none: the stage then succeeds
	Args []string `json:"args"`           // from argv[0]
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// Op makes one path of the file system.
type Op struct {
	Kind  string `json:"kind"`          // one of the constants
	Src   string `json:"src,omitempty"` // of a bind mount; the text of a symlink
	Dst   string `json:"dst"`
	Write bool   `json:"write,omitempty"`
	Size  int64  `json:"size,omitempty"` // bytes of a Tmpfs, of a File, and of /dev/shm in a Dev
}

// The kinds of an Op.
const (
	Dir     = "dir"
	Tmpfs   = "tmpfs"
	Bind    = "bind"
	Symlink = "symlink"
	Empty   = "empty"
	File    = "file" // a read-only executable, alone in its directory
	Proc    = "proc"
	Dev     = "dev"
)

// Landlock lists the files that a program may access. It may read, write and execute no others: see
// landlock(7).
type Landlock struct {
	Read    []string `json:"read"`              // files, and directories with all below: read and execute
	Write   []string `json:"write"`             // the same, with writing
	Network bool     `json:"network,omitempty"` // TCP is allowed
	Version int      `json:"version"`           // version of the kernel's interface to use
}

// The file descriptors of a stage. The last two are those of the confining stage.
const (
	ProgramFD = 3 // the executable of the stage
	SpecFD    = 4 // the Spec
	StatusFD  = 5 // Ready is written to it before the program starts, then an error or how it ended
)

// BusyTries and BusyPause say how often, and after how long, an executable is started again that
// is open for writing. A process that krmcat forked while it wrote the file holds it open until
// its exec (golang.org/issue/22315).
const (
	BusyTries = 20
	BusyPause = 10 * time.Millisecond
)

// ProgramPath is the path of ProgramFD inside the process.
const ProgramPath = "/proc/self/fd/3"

// Ready is written by the confining stage when only the start of the program is left.
const Ready = "ready\n"

// Exited and Signaled begin the line that reports how a program ended below PID 1. The exit code
// or the number of the signal follows.
const (
	Exited   = "exited "
	Signaled = "signaled "
)

// ErrnoMark separates the text of an error from its errno, if it has one.
const ErrnoMark = "\x00"

// ConfineStage names the confining stage. NothingStage names a stage that succeeds at once.
const (
	ConfineStage = "confine"
	NothingStage = "nothing"
)
