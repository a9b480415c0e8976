package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Error reports that an engine failed before the function was started.
type Error struct {
	Engine string // docker, …
	Kind   FailureKind
	Msg    string // for people
	Said   string // what the engine wrote, if Msg says it differently
}

// FailureKind is the kind of an Error. The zero value is for messages that krmcat does not know.
type FailureKind string

// The kinds of failures.
const (
	Unreachable FailureKind = "unreachable" // no daemon, or no registry
	NoLogin     FailureKind = "no login"    // the registry asks for credentials, and the engine has none
	NoImage     FailureKind = "no image"    // not on this machine, or not in the registry
	NoUser      FailureKind = "no user"     // the image does not have the user
	NoProgram   FailureKind = "no program"  // not in the image, or not executable
	Unfit       FailureKind = "unfit"       // the image is for another platform, or inconsistent
	NoTLS       FailureKind = "no tls"      // the registry serves http, and the engine expects https
	NoIDs       FailureKind = "no ids"      // the user has no subordinate ids
	Refused     FailureKind = "refused"     // the image requests too much, or has another digest
	NoInit      FailureKind = "no init"     // the engine has no program for --init
)

// Error names the engine and the message.
func (e *Error) Error() string { return e.Engine + ": " + e.text() }

func (e *Error) text() string {
	if e.Said == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Said + ")"
}

// lookedError is the error of an engine whose name is printed beside it.
type lookedError struct{ failed *Error }

func (e *lookedError) Error() string { return e.failed.text() }

// Unwrap returns the error with the engine's name.
func (e *lookedError) Unwrap() error { return e.failed }

// failed returns the error of an engine's command, by its stderr. err is not wrapped: its exit
// code is not a function's.
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

// cause is a known failure of engines.
type cause struct {
	kind  FailureKind
	means string // the message; %[1]s is the engine
	signs []string
}

// causes lists the common failures. The first match counts.
func causes() []cause {
	return []cause{
		{NoInit, "it has no program for --init, below which functions are started%.0[1]s", []string{"container-init binary not found", `"docker-init": executable file not found`, `"tini": executable file not found`}},
		{NoIDs, "this user has no subordinate ids (/etc/subuid), and so can be nobody but root in a container%.0[1]s", []string{"subuid", "setup user: invalid argument", `mounting "tmpfs" to rootfs at "/tmp"`}},
		{NoTLS, "the registry speaks http only, and %[1]s has to be told so", []string{"server gave http response to https client"}},
		{Unreachable, "the user may not talk to its daemon%.0[1]s", []string{"permission denied while trying to connect", "dial unix /var/run/docker.sock: connect: permission denied"}},
		{Unreachable, "its daemon does not run%.0[1]s", []string{"cannot connect to the docker daemon", "cannot connect to podman", "error during connect", "is the docker daemon running", "is containerd running", "cannot access containerd socket", "rootless containerd not running"}},
		{NoLogin, "the registry asks for a login, and %[1]s uses its own", []string{"unauthorized", "authentication required", "pull access denied", "no basic auth credentials", "access to the resource is denied"}},
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

// initFailed begins the message of an init program that cannot start the function's program. It
// is on the function's stderr, with exit code 1.
const initFailed = "exec /"

// The beginnings of the messages of other init programs.
const (
	tiniFailed      = "[FATAL tini ("
	catatonitFailed = "ERROR (catatonit:"
)

// unstarted returns the line that says that the program was not started; "" if there is none.
// All other lines must be remarks of the engine.
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

// remarks returns the beginnings of the lines that engines add to a container's stderr.
func remarks() []string {
	return []string{"WARNING: The requested image's platform", "WARNING: image platform", "Resource limits are not supported"}
}

// words returns what matters of an engine's stderr: without usage, progress and prefixes.
func words(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Run '") || strings.HasPrefix(line, "See '") {
			continue
		}
		if ofEngine(line) {
			lines = nil // the lines before are progress
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

// maxWords bounds what is quoted of an engine's stderr, in bytes.
const maxWords = 1000

// prefixes returns the prefixes of engines' error messages, in the order in which they occur.
func prefixes() []string {
	return []string{Docker + ": ", "Error: ", "Error response from daemon: ", "error during connect: "}
}

// ofEngine reports whether stderr has a line in which an engine reports its failure.
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
