package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Missing is an engine that does not work on this machine, and why.
type Missing struct {
	Engine Engine
	Err    error
}

// Why returns the reason, without the name of the engine.
func (m Missing) Why() string {
	var not *NamespaceError
	var failed *EngineError
	switch {
	case errors.As(m.Err, &not):
		return not.Error()
	case errors.As(m.Err, new(*NotFoundError)):
		return "it is not in PATH"
	case errors.As(m.Err, &failed) && failed.Engine == m.Engine:
		return failed.text()
	}
	return m.Err.Error()
}

// NamespaceError reports that this user may not make user namespaces, which every engine needs.
type NamespaceError struct {
	Setting string   // the kernel setting that forbids them; "" for another reason
	Now     string   // its value
	Enough  string   // a value that allows them
	Lacks   []string // the capabilities that root needs for them and does not have
	Err     error    // the cause
}

// Error names the setting, the capabilities or the error of the system.
func (e *NamespaceError) Error() string {
	if len(e.Lacks) > 0 {
		return "root without " + strings.Join(e.Lacks, ", ") + " can make no user namespaces"
	}
	why := e.Err.Error()
	if errno := syscall.Errno(0); errors.As(e.Err, &errno) {
		why = errno.Error()
	}
	switch {
	case e.Setting != "":
		why = e.Setting + " is " + e.Now
	case errors.Is(e.Err, syscall.ENOSPC):
		why = "the limit user.max_user_namespaces, or a similar one, is reached"
	}
	return "user namespaces are forbidden here (" + why + ")"
}

// Unwrap returns the cause.
func (e *NamespaceError) Unwrap() error { return e.Err }

// oneReason gives the engines that fail for lack of user namespaces the same error. Each of them
// fails at another step, with an error of its own.
func oneReason(missing []Missing) []Missing {
	at := slices.IndexFunc(missing, func(m Missing) bool { return m.Engine == Native && refused(m.Err) })
	if at < 0 {
		return missing
	}
	reason := forbidden(missing[at].Err)
	var out []Missing
	for _, m := range missing {
		if refused(m.Err) {
			why := *reason
			why.Err = m.Err
			m.Err = &why
		}
		out = append(out, m)
	}
	return out
}

// refused reports whether an engine failed as it does without user namespaces. bwrap is a
// program of its own, and only its stderr tells.
func refused(err error) bool {
	if errors.As(err, new(*NotFoundError)) {
		return false
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		return true
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc([]string{
		"operation not permitted", "no space left on device", "permission denied", "can't get final child's pid from pipe",
		"no permissions to creat", "max_*_namespaces exceeded", // of bwrap
	}, func(word string) bool { return strings.Contains(text, word) })
}

// UnconfinedError reports that no engine works on this machine.
type UnconfinedError struct{ Missing []Missing }

// Error lists the engines and what is wrong with each.
func (e *UnconfinedError) Error() string {
	if len(e.Missing) == 0 {
		return "krmcat confines processes on Linux only"
	}
	return "nothing on this machine confines a process: " + ListMissing(e.Missing)
}

// ListMissing writes why engines do not work, in one line.
func ListMissing(missing []Missing) string {
	var reasons []Reason
	for _, m := range missing {
		reasons = append(reasons, Reason{string(m.Engine), m.Why()})
	}
	return ListReasons(reasons)
}

// Reason says why something with a name does not work.
type Reason struct{ Name, Why string }

// ListReasons writes reasons in one line, each of them once: "a, b: not there; c: it failed".
func ListReasons(reasons []Reason) string {
	var parts []string
	said := map[string]bool{}
	for _, r := range reasons {
		if said[r.Why] {
			continue
		}
		said[r.Why] = true
		var names []string
		for _, other := range reasons {
			if other.Why == r.Why {
				names = append(names, other.Name)
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %s", strings.Join(names, ", "), r.Why))
	}
	return strings.Join(parts, "; ")
}
