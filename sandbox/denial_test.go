package sandbox_test

import (
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
		if got := g.Walls(said); len(got) != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
		if got := g.Walls("replicas are missing"); len(got) > 0 {
			t.Errorf("%s: got %v for another reason", test.name, got)
		}
	}
}
