package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestUmask checks that files of a function have the caller's umask, with every engine and
// without. The umask is of a whole process, so the test runs in one of its own.
func TestUmask(t *testing.T) {
	t.Parallel()
	const asked = "KRMCAT_TEST_UMASK"
	if os.Getenv(asked) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `umask 0077; exec "$@"`, "sh", self, "-test.run=^TestUmask$", "-test.v")
		cmd.Env = append(os.Environ(), asked+"=1", enginetest.SelfEnv(enginetest.Self(t)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	for _, w := range append(sandbox.AllEngines(), sandbox.Landlocked, "") {
		t.Run("by "+string(w), func(t *testing.T) {
			t.Parallel()
			a := heldBy(t, w)
			g := grant(t, a, sandbox.Request{HostExec: true})
			c, err := g.Confinement(t.Context())
			if w == sandbox.Landlocked && c.Engine == "" {
				enginetest.Missing(t, "this kernel has no Landlock")
			}
			if err != nil || c.Engine != w {
				t.Fatalf("got %+v, %v", c, err)
			}
			var out bytes.Buffer
			err = g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "umask"}, Dir: "/usr"}, sandbox.Streams{Stdout: &out})
			if err != nil || strings.TrimSpace(out.String()) != "0077" {
				t.Errorf("got %s, %v", &out, err)
			}
		})
	}
}
