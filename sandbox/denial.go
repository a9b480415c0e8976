package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// Wall is something that a Grant keeps a function from, and how that shows: programs say
// in words of their own what the system answered.
type Wall struct {
	What string // "it has no network"
	Try  string // what would change that, "" for nothing
}

// wall is a Wall and the words, in lower case, by which it is known.
type wall struct {
	Wall
	words []string
}

// Walls tells which walls a function that failed seems to have run into, by what it wrote
// to stderr. It is a guess: whoever fails for another reason may use the same words.
func (g Grant) Walls(stderr string) []Wall {
	if g.g == nil {
		return nil
	}
	text := strings.ToLower(stderr)
	var out []Wall
	for _, w := range g.walls() {
		for _, word := range w.words {
			if strings.Contains(text, word) {
				out = append(out, w.Wall)
				break
			}
		}
	}
	return out
}

// walls are those that stand: what was granted is none. A function within this process has
// none to run into, and neither has one that nothing confines.
func (g Grant) walls() []wall {
	l, engine := g.Limits(), g.engine()
	if g.g.request.HostExec && engine == "" || !g.g.request.HostExec && !g.g.request.Image {
		return nil
	}
	var out []wall
	if !g.g.request.Network {
		out = append(out, wall{Wall{"it has no network", "requireNetwork: true where the function is declared, and --network"}, []string{
			"socket: operation not permitted", "permissionerror: [errno 1] operation not permitted", // by Landlock's side
			"network is unreachable", "network unreachable", "no such host", "could not resolve host", "bad address",
			"temporary failure in name resolution", "name or service not known", "name does not resolve", "eai_again", "enotfound",
			"connection refused", "cannot assign requested address", "address family not supported", "unknown host",
		}})
	}
	if g.g.request.HostExec {
		out = append(out, wall{Wall{"it sees the programs of /usr, /opt and the like, the target, and none of a home", "requireStorageMount: true where the function is declared, and --mount type=bind,src=DIR,dst=DIR --mount-anywhere"},
			[]string{"command not found", "bad interpreter", "env: '", "env: \u2018"}})
	}
	if g.othersFiles() {
		out = append(out, wall{Wall{"functions of root are another user, nobody, who may read and write what everybody may", "--as-current-user, or what it has to write given to nobody: chown 65534"},
			[]string{"permission denied", "eacces"}})
	}
	if engine == Landlocked {
		return append(out, wall{Wall{"it may write to its TMPDIR alone", ""}, []string{"permission denied", "eacces"}}, l.memory())
	}
	return append(out,
		wall{Wall{"it may write to /tmp alone", "requireStorageMount: true where the function is declared, and --mount type=bind,src=DIR,dst=/DIR,rw=true"},
			[]string{"read-only file system", "erofs"}},
		wall{Wall{fmt.Sprintf("it may keep %s in /tmp, and as much in /dev/shm", inUnits(l.Temp)), "--temp"},
			[]string{"no space left on device", "enospc"}},
		l.memory(),
		wall{Wall{fmt.Sprintf("it may have %d processes and threads", l.Processes), "--processes"},
			[]string{"can't fork", "cannot fork", "fork: retry", "newosproc", "pthread_create failed", "resource temporarily unavailable"}},
	)
}

// othersFiles reports whether a function works with files of this machine as another user than
// the one who started it.
func (g Grant) othersFiles() bool {
	if os.Geteuid() != 0 || g.g.allow.AsCurrentUser {
		return false
	}
	if g.g.request.HostExec {
		return !keepsRoot(g.engine())
	}
	return g.g.allow.User == "" && len(g.g.mounts) > 0
}

// inUnits writes a size as --memory and --temp read it.
func inUnits(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	if n < mib {
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

func (l Limits) memory() wall {
	return wall{Wall{fmt.Sprintf("a process of it may use %s of memory", inUnits(l.Memory)), "--memory"},
		[]string{"cannot allocate memory", "out of memory", "memory allocation", "memoryerror", "memory exhausted", "bad_alloc", "enomem",
			"unable to set memory limit"}}
}
