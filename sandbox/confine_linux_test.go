package sandbox_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

func host(t *testing.T, ways ...sandbox.Way) *sandbox.Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Ways: ways})
}

func TestWays(t *testing.T) {
	t.Parallel()
	for _, w := range sandbox.AllWays() {
		way, missing, err := host(t, w).Way(t.Context())
		t.Log(w, way, missing, err)
	}
}

func TestConfinedPlay(t *testing.T) {
	t.Parallel()
	for _, w := range []sandbox.Way{sandbox.Bubblewrap, sandbox.Native} {
		a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ()}
		g := grant(t, a, sandbox.Request{HostExec: true})
		var out, notes bytes.Buffer
		err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "id; ls -la / /root /tmp /dev; ps ax; cat /proc/self/status | grep -E 'Cap|Sec|NoNew'; ulimit -a; mount; echo x >/usr/x; cat /etc/shadow; exit 3"}, Dir: t.TempDir()}, sandbox.Streams{In: strings.NewReader(""), Out: &out, Notes: &notes})
		t.Log(w, err, out.String(), notes.String())
	}
}
