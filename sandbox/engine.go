package sandbox

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
)

// Engine is a engine a process on this machine.
type Engine string

// The ways, in the order in which they are tried.
const (
	Native     Engine = "native" // namespaces made by krmcat itself
	Bubblewrap Engine = "bwrap"
)

// Landlocked is what remains where no engine works: the kernel holds the process
// to a list of files, and to no sockets and no signals to others, by landlock(7) and a
// filter of system calls. It still sees that there are other processes.
const Landlocked Engine = "landlock"

// job is a process to be confined: what every engine has to give it, and no more.
type job struct {
	view    []op     // its file system
	path    string   // the program, absolute, as the process sees it
	program *Program // that lies there; nil where path is that of a file
	args    []string
	env     []string // all of it
	dir     string   // working directory, as the process sees it
	uid     int      // who it is, as it sees itself, where the engine can give it that
	gid     int
	network bool // this machine's; otherwise a namespace with nothing in it
	unnamed bool // no Unix sockets: services of this machine listen on those
	limits  Limits
}

// confiner is one engine. It is tried once, with a job that does nothing.
type confiner interface {
	// prepare makes the process that becomes the job, or fails with an *EngineError.
	// Nothing is started.
	prepare(ctx context.Context, j job) (*prepared, error)
}

// prepared is an engine's process, not started yet, without its three streams. Its
// process group is its own, and killing it takes the job along, whatever the job did.
type prepared struct {
	cmd *exec.Cmd
	// over is the process above the job, nil where the engine's process becomes the job.
	over overseer
	// apart says that the job takes its streams from behind the other files of the engine's
	// process: that one lives as long as the job, and is not to hold them.
	apart bool
	// settle is called once the process has ended or could not be started, with what
	// Start or Wait returned. It removes what prepare made. It returns what became of the
	// job: nil, an *EndedError, or an *EngineError where the engine
	// failed before the job was started.
	settle func(err error) error
}

// overseer is a process above a job that tells how the job ended, and stays with what it
// left, until it is dismissed.
type overseer interface {
	// await returns when the job has ended, or the overseer.
	await()
	// dismiss has the overseer end, and with it all that the job has left.
	dismiss()
}

// StarvedError says that the kernel ended a process of a job that used up its memory.
type StarvedError struct {
	Err error // what became of the job, nil where it ended well or was not started
}

func (e *StarvedError) Error() string {
	if e.Err == nil {
		return "out of memory before the function was started"
	}
	return "out of memory: " + e.Err.Error()
}

// Unwrap returns what became of the job.
func (e *StarvedError) Unwrap() error { return e.Err }

// EngineError says that a engine failed: the function was not started.
type EngineError struct {
	Engine Engine
	Err    error
	Said   string // on its stderr, the end of it
}

func (e *EngineError) Error() string { return string(e.Engine) + ": " + e.text() }

// text is Error without the engine.
func (e *EngineError) text() string {
	text := e.Err.Error()
	switch {
	case strings.Contains(e.Said, text): // an engine's own words may hold ours
		text = e.Said
	case e.Said != "":
		text += ": " + e.Said
	}
	return text
}

func (e *EngineError) Unwrap() error { return e.Err }

// systemError is what the system refused, in words that say where.
type systemError struct {
	text string
	err  syscall.Errno
}

func (e *systemError) Error() string { return e.text }

// Unwrap returns the system's error.
func (e *systemError) Unwrap() error { return e.err }
