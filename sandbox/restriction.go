package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// Restriction is a restriction of a Grant that a failed function seems to have met.
type Restriction struct {
	What string // the restriction: "it has no network"
	Try  string // what lifts it: flags and fields of the declaration; "" for nothing
}

// restriction is a Restriction with the lower case texts on stderr that point to it.
type restriction struct {
	Restriction
	words []string
}

// Restrictions returns the restrictions that a failed function seems to have met, by what it
// wrote to stderr. It is a guess: a function that failed for another reason may write the same.
func (g Grant) Restrictions(stderr string) []Restriction {
	if g.g == nil {
		return nil
	}
	text := strings.ToLower(stderr)
	var out []Restriction
	for _, w := range g.restrictions() {
		for _, word := range w.words {
			if strings.Contains(text, word) {
				out = append(out, w.Restriction)
				break
			}
		}
	}
	return out
}

// restrictions returns the restrictions that apply. There are none for a function inside krmcat,
// and for a process that is not confined.
func (g Grant) restrictions() []restriction {
	l, engine := g.Limits(), g.engine()
	if g.g.request.HostExec && engine == "" || !g.g.request.HostExec && !g.g.request.Image {
		return nil
	}
	var out []restriction
	if !g.g.request.Network {
		out = append(out, restriction{Restriction{"it has no network", "requireNetwork: true where the function is declared, and --network"}, []string{
			"socket: operation not permitted", "permissionerror: [errno 1] operation not permitted", // from seccomp
			"network is unreachable", "network unreachable", "no such host", "could not resolve host", "bad address",
			"temporary failure in name resolution", "name or service not known", "name does not resolve", "eai_again", "enotfound",
			"connection refused", "cannot assign requested address", "address family not supported", "unknown host",
		}})
	}
	if g.g.request.HostExec {
		out = append(out, restriction{Restriction{"it sees the programs of /usr, /opt and the like, and the target, but no home directory",
			"requireStorageMount: true where the function is declared, and --mount type=bind,src=DIR,dst=DIR --mount-anywhere"},
			[]string{"command not found", "bad interpreter", "env: '", "env: \u2018"}})
	}
	if g.othersFiles() {
		out = append(out, restriction{Restriction{"krmcat runs as root, so the function runs as the user nobody",
			"--as-current-user, or chown 65534 FILE for what it has to write"},
			[]string{"permission denied", "eacces"}})
	}
	if engine == Landlocked {
		return append(out, restriction{Restriction{"it may write only to its TMPDIR", ""}, []string{"permission denied", "eacces"}}, l.memory())
	}
	return append(out,
		restriction{Restriction{"it may write only to /tmp", "requireStorageMount: true where the function is declared, and --mount type=bind,src=DIR,dst=/DIR,rw=true"},
			[]string{"read-only file system", "erofs"}},
		restriction{Restriction{fmt.Sprintf("/tmp and /dev/shm hold at most %s each", inUnits(l.Temp)), "--temp SIZE"},
			[]string{"no space left on device", "enospc"}},
		l.memory(),
		restriction{Restriction{fmt.Sprintf("it may have %d processes and threads", l.Processes), "--processes NUMBER"},
			[]string{"can't fork", "cannot fork", "fork: retry", "newosproc", "pthread_create failed", "resource temporarily unavailable"}},
	)
}

// othersFiles reports whether a function accesses files of this machine as another user than
// the one who runs krmcat.
func (g Grant) othersFiles() bool {
	if os.Geteuid() != 0 || g.g.allow.AsCurrentUser {
		return false
	}
	if g.g.request.HostExec {
		return !keepsRoot(g.engine())
	}
	return g.g.allow.User == "" && len(g.g.mounts) > 0
}

// inUnits writes a size in the units that --memory and --temp read.
func inUnits(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	if n < mib {
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

func (l Limits) memory() restriction {
	return restriction{Restriction{fmt.Sprintf("it may use %s of memory", inUnits(l.Memory)), "--memory SIZE"},
		[]string{"cannot allocate memory", "out of memory", "memory allocation", "memoryerror", "memory exhausted", "bad_alloc", "enomem",
			"unable to set memory limit"}}
}
