package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// forbidden finds out why user namespaces are forbidden. err is the error of making one.
func forbidden(err error) *NamespaceError {
	e := &NamespaceError{Err: err}
	root := os.Geteuid() == 0
	for _, s := range []struct {
		name, no, enough string
		when             bool
	}{
		{"user.max_user_namespaces", "0", "15000", true},
		{"user.max_mnt_namespaces", "0", "15000", true},
		{"user.max_pid_namespaces", "0", "15000", true},
		{"user.max_net_namespaces", "0", "15000", true},
		{"kernel.unprivileged_userns_clone", "0", "1", !root},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0", !root},
	} {
		data, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/"))
		if now := strings.TrimSpace(string(data)); err == nil && s.when && now == s.no {
			e.Setting, e.Now, e.Enough = s.name, now, s.enough
			return e
		}
	}
	if root && !errors.Is(err, syscall.ENOSPC) {
		e.Lacks = lacks(capability{unix.CAP_SETUID, "CAP_SETUID"}, capability{unix.CAP_SETGID, "CAP_SETGID"}, capability{unix.CAP_SETFCAP, "CAP_SETFCAP"})
	}
	return e
}

// capability is one of capabilities(7).
type capability struct {
	number int
	name   string
}

// lacks returns the names of the capabilities that this process does not have.
func lacks(want ...capability) []string {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return nil // unknown
	}
	const bits = 32
	var names []string
	for _, c := range want {
		if have[c.number/bits].Effective&(1<<(c.number%bits)) == 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// keepsRoot reports whether this process is root and an engine cannot start a process of another
// user: its user namespace has no other user, or, without a namespace, it lacks capabilities.
func keepsRoot(w Engine) bool {
	return os.Geteuid() == 0 && (!known("/proc/self/uid_map", nobody) || !known("/proc/self/gid_map", nobody) ||
		w == Landlocked && len(lacks(capability{unix.CAP_SETUID, ""}, capability{unix.CAP_SETGID, ""}, capability{unix.CAP_CHOWN, ""}, capability{unix.CAP_DAC_OVERRIDE, ""})) > 0)
}
