package sandbox_test

import (
	"bufio"
	"context"
	"os"
	"testing"

	ending "github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/sandbox"
)

// TestLeave checks that krmcat does not exit before a function and its temporary files are gone.
func TestLeave(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]sandbox.Allow{
		"confined": {On: host(t), Confine: sandbox.ConfineAuto, Host: os.Environ()},
		"free":     {Confine: sandbox.ConfineOff, Host: os.Environ()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := grant(t, a, sandbox.Request{HostExec: true})
			out, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var l ending.Leaver
			ctx, cancel := context.WithCancel(ending.With(t.Context(), &l))
			defer cancel()
			ran, ended := make(chan error, 1), make(chan struct{})
			go func() {
				ran <- g.Run(ctx, sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "echo; sleep 1000"}, Dir: "/usr"}, sandbox.Streams{Stdout: theirs})
			}()
			if _, err := bufio.NewReader(out).ReadByte(); err != nil {
				t.Fatal(err)
			}
			l.When(func() { close(ended) })
			select {
			case <-ended:
				t.Error("the process may end, and the function runs")
			default:
			}
			cancel()
			if err := <-ran; err == nil {
				t.Error("it went well")
			}
			select {
			case <-ended:
			default:
				t.Error("the process may not end, and nothing runs")
			}
		})
	}
}
