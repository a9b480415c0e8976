package sandbox

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
)

// Engine names what confines a process on this machine.
type Engine string

// The engines, in the order in which they are tried.
const (
	Native     Engine = "native" // namespaces that krmcat makes itself
	Bubblewrap Engine = "bwrap"  // the program bwrap
)

// Landlocked is used if no engine works and the kernel has Landlock: landlock(7) and a seccomp
// filter restrict which files the process opens, and deny it the network and signals to
// other processes. The process still sees that other processes exist.
const Landlocked Engine = "landlock"

// job describes a process to be confined. Every engine gives the process exactly this.
type job struct {
	view    []op     // its file system
	path    string   // of the program: absolute, as the process sees it
	program *Program // the program at path; nil if path names a file
	args    []string
	env     []string // the whole environment, as KEY=VALUE
	dir     string   // working directory, as the process sees it
	uid     int      // user as the process sees it, if the engine can set it
	gid     int
	network bool // the network of this machine; otherwise an empty network namespace
	unnamed bool // no Unix sockets: services of this machine listen on them
	limits  Limits
}

// confiner implements an Engine. It is tried once, with a job that does nothing.
type confiner interface {
	// prepare makes the process that becomes the job, but does not start it. The error is an
	// *EngineError.
	prepare(ctx context.Context, j job) (*prepared, error)
}

// prepared is an engine's process before its start, without its standard streams. It has a
// process group of its own. Killing the group ends the job too, whatever the job did.
type prepared struct {
	cmd *exec.Cmd
	// over is the process above the job; nil if the engine's process becomes the job.
	over supervisor
	// apart means that the job gets its streams as the last extra files of the engine's
	// process. The engine's process lives as long as the job and must not hold them.
	apart bool
	// settle is called once, with the error of Start or Wait, after the process has ended or
	// could not be started. It removes what prepare made. It returns the result of the job:
	// nil, an *EndedError, or an *EngineError if the engine failed before the job started.
	settle func(err error) error
}

// supervisor is a process above a job. It reports how the job ended, and lives until dismissed,
// together with the processes that the job left.
type supervisor interface {
	// await returns when the job or the supervisor has ended.
	await()
	// dismiss ends the supervisor, and with it all processes that the job left.
	dismiss()
}

// OutOfMemoryError reports that the kernel killed a process of a job that exceeded its memory.
type OutOfMemoryError struct {
	Err error // result of the job; nil if it succeeded or was not started
}

// Error names the cause before the result of the job.
func (e *OutOfMemoryError) Error() string {
	if e.Err == nil {
		return "out of memory before the function was started"
	}
	return "out of memory: " + e.Err.Error()
}

// Unwrap returns the result of the job.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

// EngineError reports that an engine failed before the function was started.
type EngineError struct {
	Engine Engine
	Err    error
	Said   string // the end of its stderr
	early  bool   // it may not work for any process
}

// Error joins the engine, the error and what the engine wrote to stderr.
func (e *EngineError) Error() string { return string(e.Engine) + ": " + e.text() }

// text returns Error without the engine.
func (e *EngineError) text() string {
	text := e.Err.Error()
	switch {
	case strings.Contains(e.Said, text): // bwrap quotes the error
		text = e.Said
	case e.Said != "":
		text += ": " + e.Said
	}
	return text
}

// Unwrap returns the cause.
func (e *EngineError) Unwrap() error { return e.Err }

// systemError is an error of a system call, with a text that says where it happened.
type systemError struct {
	text string
	err  syscall.Errno
}

func (e *systemError) Error() string { return e.text }

// Unwrap returns the errno.
func (e *systemError) Unwrap() error { return e.err }
