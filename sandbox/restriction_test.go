package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

func TestWalls(t *testing.T) {
	t.Parallel()
	const said = "dial tcp 127.0.0.1:1: connect: connection refused\nwrite /usr/x: Read-only file system\nmkdir: No space left on device\nout of memory\nsh: can't fork"
	for _, test := range []struct {
		name  string
		allow sandbox.Allow
		asks  sandbox.Request
		want  int
	}{
		{"an image", sandbox.Allow{}, sandbox.Request{Image: true}, 5},
		{"an image with the network", sandbox.Allow{Network: true}, sandbox.Request{Image: true, Network: true}, 4},
		{"a script", sandbox.Allow{}, sandbox.Request{}, 0},
		{"a program that nothing confines", sandbox.Allow{}, sandbox.Request{HostExec: true}, 0},
	} {
		g := grant(t, test.allow, test.asks)
		if got := g.Restrictions(said); len(got) != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
		if got := g.Restrictions("sh: cannot create /x: Permission denied"); len(got) > 0 {
			t.Errorf("%s: got %v for what is not another's", test.name, got)
		}
		if got := g.Restrictions("replicas are missing"); len(got) > 0 {
			t.Errorf("%s: got %v for another reason", test.name, got)
		}
	}
}

// TestWallsOfRoot checks that a function that runs as nobody in place of root is told so if it may
// not write to a mount.
func TestWallsOfRoot(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	if err := os.Mkdir(filepath.Join(target, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := sandbox.Allow{Target: target, Mounts: []sandbox.Mount{{Type: "bind", Src: "out", Dst: "/out", RW: true}}}
	for name, want := range map[string]int{"": 1, "1234": 0} {
		a.User = name
		if os.Geteuid() != 0 {
			want = 0 // it is the user who runs krmcat
		}
		got := grant(t, a, sandbox.Request{Image: true, StorageMount: true}).Restrictions("touch: cannot touch '/out/x': Permission denied")
		if len(got) != want || want > 0 && (!strings.Contains(got[0].What, "nobody") || !strings.Contains(got[0].Try, "--as-current-user")) {
			t.Errorf("as %q: got %+v", name, got)
		}
	}
}
