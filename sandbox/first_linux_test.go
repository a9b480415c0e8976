package sandbox_test

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

// TestSignalsToTheFirstProcess checks that a function cannot end PID 1 of its namespace by a signal,
// even if both are the same user. The function sends it as soon as it starts, many times, since PID 1
// was vulnerable for a moment only.
func TestSignalsToTheFirstProcess(t *testing.T) {
	t.Parallel()
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w == sandbox.Bubblewrap {
				sandbox.Needs(t, string(w))
			}
			a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ(), AsCurrentUser: true}
			g := grant(t, a, sandbox.Request{HostExec: true})
			for range 40 {
				if err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "kill 1"}, Dir: "/"}, sandbox.Streams{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
