package sandbox_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestSharedMemory checks that memory that belongs to no process counts as the job's.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		enginetest.Missing(t, "control groups are root's, or have to be handed down")
	}
	for _, w := range []sandbox.Engine{sandbox.Bubblewrap, sandbox.Native} {
		if w != sandbox.Native {
			sandbox.Needs(t, string(w))
		}
		a := sandbox.Allow{
			On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ(),
			Limits: sandbox.Limits{Memory: 64 << 20},
		}
		g := grant(t, a, sandbox.Request{HostExec: true})
		var out, stderr bytes.Buffer
		// /tmp is memory that belongs to no process.
		err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "head -c 100000000 /dev/zero >/tmp/x"}, Dir: "/"},
			sandbox.Streams{Stdout: &out, Stderr: &stderr})
		if code, ok := sandbox.ExitCode(err); !ok || code == 0 || !strings.Contains(stderr.String(), "out of memory") {
			t.Errorf("%s: got %v, %s", w, err, &stderr)
		}
		if restrictions := g.Restrictions(stderr.String()); len(restrictions) != 1 || !strings.Contains(restrictions[0].What, "64 MiB of memory") {
			t.Errorf("%s: got the restrictions %v", w, restrictions)
		}
		// Too little memory to start a program has an error of its own.
		a.Limits.Memory = 1 << 10
		err = grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Dir: "/"}, sandbox.Streams{Stdout: &out, Stderr: &stderr})
		if err == nil || err.Error() != string(w)+": out of memory before the function was started" {
			t.Errorf("%s: got %v", w, err)
		}
		if _, ran := sandbox.ExitCode(err); ran {
			t.Errorf("%s: how the stage ended is taken for the function's end: %v", w, err)
		}
	}
}
