package sandbox_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

// TestSharedMemory has what no process owns count as the job's.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("control groups are root's, or have to be handed down")
	}
	for _, w := range []sandbox.Way{sandbox.Bubblewrap, sandbox.Native} {
		if w != sandbox.Native {
			sandbox.Needs(t, string(w))
		}
		a := sandbox.Allow{
			On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ(),
			Limits: sandbox.Limits{Memory: 64 << 20},
		}
		g := grant(t, a, sandbox.Request{HostExec: true})
		var out, notes bytes.Buffer
		// /tmp is memory that no process owns.
		err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "head -c 100000000 /dev/zero >/tmp/x"}, Dir: "/"},
			sandbox.Streams{Out: &out, Notes: &notes})
		if code, ok := sandbox.ExitCode(err); !ok || code == 0 || !strings.Contains(notes.String(), "out of memory") {
			t.Errorf("%s: got %v, %s", w, err, &notes)
		}
		if walls := g.Walls(notes.String()); len(walls) != 1 || !strings.Contains(walls[0].What, "64 MiB of memory") {
			t.Errorf("%s: got the walls %v", w, walls)
		}
	}
}
