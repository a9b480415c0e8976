package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Error says that an engine failed and that the function was not started.
type Error struct {
	Engine string // docker, …
	Kind   FailureKind
	Msg    string // for people
	Said   string // the engine's own words, where Msg puts it otherwise
}

// FailureKind is what an engine failed for. The zero value is what it did not say, or what krmcat
// does not know the words of.
type FailureKind string

// What engines fail for.
const (
	Unreachable FailureKind = "unreachable" // the engine's daemon, or the registry, or it wants a login
	NoImage     FailureKind = "no image"    // not on this machine or not in the registry
	NoUser      FailureKind = "no user"     // the image does not know the user
	NoProgram   FailureKind = "no program"  // not in the image, or not one that starts
	Unfit       FailureKind = "unfit"       // the image is for another system, or says what it has not got
	NoTLS       FailureKind = "no tls"      // the registry speaks http, and the engine wants https
	NoIDs       FailureKind = "no ids"      // the user has no subordinate ids
	Refused     FailureKind = "refused"     // the image asks for what it may not, or is another one than its name says
	NoInit      FailureKind = "no init"     // the engine has no first process to start functions below
)

func (e *Error) Error() string { return e.Engine + ": " + e.text() }

func (e *Error) text() string {
	if e.Said == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Said + ")"
}

// lookedError is an engine that was looked for and failed: which one stands beside it.
type lookedError struct{ failed *Error }

func (e *lookedError) Error() string { return e.failed.text() }

// Unwrap returns what failed.
func (e *lookedError) Unwrap() error { return e.failed }

// failed explains a call of an engine that failed, by what it wrote to stderr. The exit
// code of the engine's program is no function's, so that it is not wrapped.
func (e *Engine) failed(err error, stderr string) error {
	said := words(stderr)
	if said == "" {
		return &Error{Engine: e.name, Msg: fmt.Sprintf("it failed and wrote no message: %v", err)}
	}
	low := strings.ToLower(said)
	for _, known := range causes() {
		for _, sign := range known.signs {
			if strings.Contains(low, sign) {
				return &Error{Engine: e.name, Kind: known.kind, Msg: fmt.Sprintf(known.means, e.name), Said: said}
			}
		}
	}
	return &Error{Engine: e.name, Msg: said}
}

// cause is something that engines say, and what it means.
type cause struct {
	kind  FailureKind
	means string // %[1]s is the engine
	signs []string
}

// causes lists what goes wrong often. The first that fits wins.
func causes() []cause {
	return []cause{
		{NoInit, "it has no program for --init, below which functions are started%.0[1]s", []string{"container-init binary not found", `"docker-init": executable file not found`, `"tini": executable file not found`}},
		{NoIDs, "this user has no subordinate ids (/etc/subuid), and so can be nobody but root in a container%.0[1]s", []string{"subuid", "setup user: invalid argument", `mounting "tmpfs" to rootfs at "/tmp"`}},
		{NoTLS, "the registry speaks http only, and %[1]s has to be told so", []string{"server gave http response to https client"}},
		{Unreachable, "the user may not talk to its daemon%.0[1]s", []string{"permission denied while trying to connect", "dial unix /var/run/docker.sock: connect: permission denied"}},
		{Unreachable, "its daemon does not run%.0[1]s", []string{"cannot connect to the docker daemon", "cannot connect to podman", "error during connect", "is the docker daemon running", "is containerd running", "cannot access containerd socket", "rootless containerd not running"}},
		{Unreachable, "the registry asks for a login, and %[1]s uses its own", []string{"unauthorized", "authentication required", "pull access denied", "no basic auth credentials", "access to the resource is denied"}},
		{NoImage, "the registry does not have the image%.0[1]s", []string{"manifest unknown", "name unknown", "manifest for"}},
		{NoImage, "the image is not on this machine%.0[1]s", []string{"no such image", "image not known"}},
		{Unfit, "the image is for another system%.0[1]s", []string{"cannot be used on this platform"}},
		{Unfit, "the working directory is a file%.0[1]s", []string{"cannot mkdir: /", "container init: mkdir /", "\" exists on container"}},
		{NoProgram, "the image names no program, in neither Entrypoint nor Cmd%.0[1]s", []string{"no command specified", "no command or entrypoint provided", "args must not be empty"}},
		{NoUser, "the image does not know the user%.0[1]s", []string{"unable to find user", "unable to find group"}},
		{NoProgram, "the program is not in the image%.0[1]s", []string{"executable file not found", "stat /", "attempted to invoke a command that was not found"}},
		{NoProgram, "the program, or the interpreter that it names, is not in the image%.0[1]s", []string{"failed: no such file or directory", "failed to exec pid1: no such file or directory"}},
		{NoProgram, "the program cannot be run%.0[1]s", []string{"exec format error", "attempted to invoke a command that cannot be executed", "starting container process caused: permission denied", `start container process: exec: "`, initFailed, strings.ToLower(tiniFailed), strings.ToLower(catatonitFailed)}},
	}
}

// initFailed begins what is written, on the stderr of the function and with an exit code of
// one, where a program was found and could not be started.
const initFailed = "exec /"

// The same, from the programs that engines have for --init.
const (
	tiniFailed      = "[FATAL tini ("
	catatonitFailed = "ERROR (catatonit:"
)

// unstarted gives the line that says so, "" where there is none. Nothing else is written
// then, but an engine's remarks.
func unstarted(code int, stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); !slices.ContainsFunc(remarks(), func(r string) bool { return strings.HasPrefix(line, r) }) {
			lines = append(lines, line)
		}
	}
	if !slices.Contains([]int{1, 126, 127, 255}, code) || len(lines) != 1 ||
		!slices.ContainsFunc([]string{initFailed, tiniFailed, catatonitFailed}, func(begins string) bool { return strings.HasPrefix(lines[0], begins) }) {
		return ""
	}
	for _, why := range []string{"exec format error", "no such file or directory", "permission denied"} {
		if strings.HasSuffix(strings.ToLower(lines[0]), ": "+why) {
			return lines[0]
		}
	}
	return ""
}

// remarks begin what engines write to stderr of a container that they start.
func remarks() []string {
	return []string{"WARNING: The requested image's platform", "WARNING: image platform", "Resource limits are not supported"}
}

// words takes from what an engine wrote what a person needs: no usage, no progress, no
// prefixes.
func words(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Run '") || strings.HasPrefix(line, "See '") {
			continue
		}
		if ofEngine(line) {
			lines = nil // what stands before is progress
		}
		if _, msg, ok := nerdctlLine(line); ok {
			line = msg
		}
		for _, p := range prefixes() {
			line = strings.TrimPrefix(line, p)
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, "; ")
	if len(text) > maxWords {
		text = text[:maxWords] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

// maxWords is how much of what an engine wrote is quoted.
const maxWords = 1000

// prefixes are how engines begin the line that says what is wrong, in the order in which
// they stand.
func prefixes() []string {
	return []string{Docker + ": ", "Error: ", "Error response from daemon: ", "error during connect: "}
}

// ofEngine recognises the line with which an engine says that it failed.
func ofEngine(stderr string) bool {
	for line := range strings.Lines(stderr) {
		for _, p := range append(prefixes(), "Cannot connect to ") {
			if strings.HasPrefix(line, p) {
				return true
			}
		}
		if level, _, ok := nerdctlLine(line); ok && level == nerdctlFatal {
			return true
		}
	}
	return false
}
