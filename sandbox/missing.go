package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Missing is a engine that does not work on this machine, and why.
type Missing struct {
	Engine Engine
	Err    error
}

// Why says what is wrong, without the name of the way.
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

// NamespaceError says that this user may make no user namespaces, which every way has to.
type NamespaceError struct {
	Setting string   // the setting of the kernel that forbids them, "" for another reason
	Now     string   // its value
	Enough  string   // a value that does not
	Lacks   []string // the capabilities that root does not have, without which it may make none
	Err     error    // what happened
}

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
		why = "there are as many already as user.max_user_namespaces and its like allow"
	}
	return "user namespaces are forbidden here (" + why + ")"
}

// Unwrap returns what happened.
func (e *NamespaceError) Unwrap() error { return e.Err }

// oneReason has ways that do not work for want of user namespaces say just that: each of
// them fails at another step for it, and in words of its own.
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

// refused reports whether a way failed as it does where user namespaces are refused. What an
// engine of its own met is known by what it said.
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
		"no permissions to creat", "max_*_namespaces exceeded", // bwrap's
	}, func(word string) bool { return strings.Contains(text, word) })
}

// UnconfinedError says that no engine works on this machine.
type UnconfinedError struct{ Missing []Missing }

func (e *UnconfinedError) Error() string {
	if len(e.Missing) == 0 {
		return "krmcat confines processes on Linux only"
	}
	return "nothing on this machine confines a process: " + ListMissing(e.Missing)
}

// ListMissing says what is wrong with all of them, in one line.
func ListMissing(missing []Missing) string {
	var reasons []Reason
	for _, m := range missing {
		reasons = append(reasons, Reason{string(m.Engine), m.Why()})
	}
	return ListReasons(reasons)
}

// Reason is something that does not work, and why.
type Reason struct{ Name, Why string }

// ListReasons says in one line what is wrong, and each reason once: "a, b: it is not there; c: it failed".
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
