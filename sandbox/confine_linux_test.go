package sandbox_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// host returns this machine with the given engines.
func host(t *testing.T, engines ...sandbox.Engine) *sandbox.Host {
	t.Helper()
	self := enginetest.Self(t)
	return sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: engines})
}

// heldBy returns what confines programs by one engine, by Landlock alone, or not at all for "".
func heldBy(t *testing.T, w sandbox.Engine) sandbox.Allow {
	t.Helper()
	a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineAuto, Host: os.Environ()}
	switch w {
	case "":
		a.Confine = sandbox.ConfineOff
	case sandbox.Bubblewrap:
		sandbox.Needs(t, string(w))
	}
	return a
}

// TestEngines checks that every engine works here and is reported.
func TestEngines(t *testing.T) {
	t.Parallel()
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w != sandbox.Native {
				sandbox.Needs(t, string(w))
			}
			if engine, missing, err := host(t, w).Engine(t.Context()); engine != w || len(missing) > 0 || err != nil {
				t.Fatalf("got %q, %v, %v", engine, missing, err)
			}
			a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineRequire, Host: os.Environ()}
			g := grant(t, a, sandbox.Request{HostExec: true})
			var out, stderr bytes.Buffer
			script := `cat; echo >/usr/krmcat-was-here; ls -A /root /home >&2; grep -E "^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp):" /proc/self/status; exit 3`
			err := g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir()},
				sandbox.Streams{Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &stderr})
			if code, ok := sandbox.ExitCode(err); !ok || code != 3 {
				t.Errorf("got %v", err)
			}
			want := "in\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
			if out.String() != want || !strings.Contains(stderr.String(), "Read-only file system") {
				t.Errorf("got %s\n%s", &out, &stderr)
			}
			if c, err := g.Confinement(t.Context()); err != nil || !c.Asked || c.Engine != w || !g.Describe().Confined {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
}

// TestNoEngine checks that nothing runs unconfined with ConfineRequire, and that images never do.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]sandbox.Cmd{"program": {Path: "/bin/sh", Dir: dir}, "image": {Path: "/bin/sh", Dir: "/", Root: dir}} {
		a := sandbox.Allow{On: host(t, "no-such-engine"), Confine: sandbox.ConfineRequire}
		if name == "image" {
			a.Confine = sandbox.ConfineOff
		}
		g := grant(t, a, sandbox.Request{HostExec: true})
		var none *sandbox.UnconfinedError
		if err := g.Run(t.Context(), c, sandbox.Streams{}); !errors.As(err, &none) || len(none.Missing) != 1 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestMounts checks that mounts stay inside the target, with all links resolved.
func TestMounts(t *testing.T) {
	t.Parallel()
	outside, target := t.TempDir(), t.TempDir()
	for from, to := range map[string]string{"in": ".", "out": outside} {
		if err := os.Symlink(to, filepath.Join(target, from)); err != nil {
			t.Fatal(err)
		}
	}
	for src, good := range map[string]bool{".": true, "in": true, "out": false, "../x": false, outside: false, "missing": false, "": false} {
		a := sandbox.Allow{Target: target, Mounts: []sandbox.Mount{{Type: "bind", Src: src, Dst: "/x"}}}
		_, err := a.Grant(sandbox.Request{StorageMount: true})
		var denied *sandbox.DeniedError
		if good != (err == nil) || err != nil && !errors.As(err, &denied) {
			t.Errorf("%q: got %v", src, err)
		}
	}
	a := sandbox.Allow{Target: target, MountAnywhere: true, Mounts: []sandbox.Mount{{Type: "bind", Src: outside, Dst: "/x"}}}
	if got, err := grant(t, a, sandbox.Request{StorageMount: true}).Mounts(); err != nil || got[0].Src != outside {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestMountsLookedUpAnew checks that a source that was replaced after the grant is not mounted.
func TestMountsLookedUpAnew(t *testing.T) {
	t.Parallel()
	outside, target := t.TempDir(), t.TempDir()
	dir := filepath.Join(target, "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := grant(t, sandbox.Allow{Target: target}, sandbox.Request{Mounts: []sandbox.Mount{{Src: "dir", Dst: "/x"}}})
	if err := errors.Join(os.Remove(dir), os.Symlink(outside, dir)); err != nil {
		t.Fatal(err)
	}
	var wrong *sandbox.MountError
	if _, err := g.Mounts(); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}

// TestMountsInPlace checks that a mount that Landlock cannot make is refused before anything runs.
func TestMountsInPlace(t *testing.T) {
	t.Parallel()
	if sandbox.LandlockVersion() == 0 {
		enginetest.Missing(t, "this kernel has no Landlock")
	}
	target, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dst, good := range map[string]bool{"/x": false, target: true} {
		a := sandbox.Allow{
			Target: target, On: host(t, "no-such-engine"), Confine: sandbox.ConfineAuto,
			Mounts: []sandbox.Mount{{Src: ".", Dst: dst}},
		}
		_, err := grant(t, a, sandbox.Request{HostExec: true, StorageMount: true}).Confinement(t.Context())
		if good != (err == nil) || err != nil && !errors.As(err, new(*sandbox.MountError)) {
			t.Errorf("%s: got %v", dst, err)
		}
	}
}

// TestLinkedSelf checks that engines work if krmcat is started through a link, as `go install`
// makes one.
func TestLinkedSelf(t *testing.T) {
	t.Parallel()
	self := filepath.Join(t.TempDir(), "self")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=pie", "-o", self, "github.com/krmcat/krmcat/internal/shim/stage")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if f, err := elf.Open(self); err != nil || f.Section(".interp") == nil {
		t.Fatalf("it is not linked: %v", err)
	}
	for _, w := range sandbox.AllEngines() {
		heldBy(t, w) // reports an engine that is missing
		h := sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: []sandbox.Engine{w}})
		if got, _, err := h.Engine(t.Context()); got != w || err != nil {
			t.Errorf("%s: %q, %v", w, got, err)
		}
	}
}
