package sandbox_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestRootIsNotThisMachines checks that a function that runs as root by the user's choice cannot
// change this machine.
func TestRootIsNotThisMachines(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		enginetest.Missing(t, "who is not root gives nobody root's files")
	}
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w != sandbox.Native {
				sandbox.Needs(t, string(w))
			}
			a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ(), AsCurrentUser: true}
			g := grant(t, a, sandbox.Request{HostExec: true})
			var out, stderr bytes.Buffer
			script := `id -u; for f in /proc/sys/vm/stat_interval /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do
				if [ -e $f ] && (exec 3>>$f) 2>/dev/null; then echo "$f can be written"; fi; done; grep CapEff /proc/self/status; cat /proc/keys`
			err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir()}, sandbox.Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr})
			if _, ran := sandbox.ExitCode(err); err != nil && !ran {
				t.Fatal(err)
			}
			if out.String() != "0\nCapEff:\t0000000000000000\n" {
				t.Errorf("got %s%s", &out, &stderr)
			}
		})
	}
}
