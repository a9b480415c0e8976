package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

// TestRestrictions checks which restrictions a function seems to have met, and what lifts them.
func TestRestrictions(t *testing.T) {
	t.Parallel()
	const (
		network   = "requireNetwork: true where the function is declared, and --network"
		mount     = "requireStorageMount: true where the function is declared, and --mount type=bind,src=DIR,dst=/DIR,rw=true"
		temp      = "--temp SIZE"
		memory    = "--memory SIZE"
		processes = "--processes NUMBER"
	)
	const said = "dial tcp 127.0.0.1:1: connect: connection refused\nwrite /usr/x: Read-only file system\nmkdir: No space left on device\nout of memory\nsh: can't fork"
	for _, test := range []struct {
		name  string
		allow sandbox.Allow
		asks  sandbox.Request
		want  []string
	}{
		{"an image", sandbox.Allow{}, sandbox.Request{Image: true}, []string{network, mount, temp, memory, processes}},
		{"an image with the network", sandbox.Allow{Network: true}, sandbox.Request{Image: true, Network: true}, []string{mount, temp, memory, processes}},
		{"a script", sandbox.Allow{}, sandbox.Request{}, nil},
		{"a program without confinement", sandbox.Allow{}, sandbox.Request{HostExec: true}, nil},
	} {
		g := grant(t, test.allow, test.asks)
		var lifted []string
		for _, r := range g.Restrictions(said) {
			lifted = append(lifted, r.Try)
		}
		if !slices.Equal(lifted, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, lifted, test.want)
		}
		if got := g.Restrictions("sh: cannot create /x: Permission denied"); len(got) > 0 {
			t.Errorf("%s: got %v for what is not another's", test.name, got)
		}
		if got := g.Restrictions("replicas are missing"); len(got) > 0 {
			t.Errorf("%s: got %v for another reason", test.name, got)
		}
	}
}

// TestRestrictionsOfRoot checks that a function that runs as nobody in place of root is told so if
// it may not write to a mount.
func TestRestrictionsOfRoot(t *testing.T) {
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
		if len(got) != want || want > 0 && (!strings.Contains(got[0].What, "nobody") || got[0].Try != "--as-current-user, or chown 65534 FILE for what it has to write") {
			t.Errorf("as %q: got %+v", name, got)
		}
	}
}
