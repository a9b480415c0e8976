package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// TestRecordOfAnEngine: a record spares the trial and nothing else. What relies on one that is
// wrong is not started.
func TestRecordOfAnEngine(t *testing.T) {
	t.Parallel()
	cache, self := t.TempDir(), enginetest.Self(t)
	host := func(edit func(*HostOptions)) *Host {
		h := NewHost(HostOptions{Environ: os.Environ(), Self: self, Engines: []Engine{Native}, CacheDir: cache})
		if edit != nil {
			edit(&h.options)
		}
		return h
	}
	run := func(h *Host, path string, how ...Confine) (string, error) {
		g, err := Allow{On: h, Confine: append(how, ConfineRequire)[0], Host: os.Environ()}.Grant(Request{HostExec: true})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = g.Run(t.Context(), Cmd{Path: path, Dir: "/"}, Streams{Stdout: &out, Stderr: &out})
		return out.String(), err
	}
	path := filepath.Join(cache, "engines", string(Native))
	broken := func(o *HostOptions) { o.program = func() *program { return &program{err: errors.New("broken")} } }

	if _, err := run(host(broken), "/bin/true"); !errors.As(err, new(*UnconfinedError)) {
		t.Fatalf("without a record: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("a failure is recorded")
	}
	if out, err := run(host(nil), "/bin/true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	recorded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := host(nil)
	if out, err := run(h, "/bin/true"); err != nil || !h.relied {
		t.Fatalf("relied on the record: %v, %v: %s", h.relied, err, out)
	}
	// The process is to blame, and the engine is tried once.
	if _, err := run(h, "/no/such/program"); err == nil || errors.As(err, new(*UnconfinedError)) {
		t.Fatalf("a program that is missing: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal("the record is gone, and the engine works")
	}
	for name, edit := range map[string]func(*HostOptions){
		"another program": func(o *HostOptions) { o.Self = "/bin/true" },
		"krmcat as stage": func(o *HostOptions) { o.Whole = true },
		"no cache":        func(o *HostOptions) { o.CacheDir = "" },
	} {
		if _, ok := host(edit).recorded(Native); ok {
			t.Errorf("%s: there is a record", name)
		}
	}
	for _, wrong := range []string{"", "native", string(recorded) + "x", string(recorded[1:])} {
		if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := host(nil).recorded(Native); ok {
			t.Errorf("%q counts", wrong)
		}
	}
	for _, how := range []Confine{ConfineRequire, ConfineAuto} { // what was announced as confined is not run otherwise
		if err := os.WriteFile(path, recorded, 0o600); err != nil {
			t.Fatal(err)
		}
		h := host(broken)
		if engine, _, err := h.Engine(t.Context()); err != nil || engine != Native {
			t.Fatalf("the record is not used: %q, %v", engine, err)
		}
		out, err := run(h, "/bin/pwd", how)
		if !errors.As(err, new(*UnconfinedError)) || !strings.Contains(err.Error(), "run the same command again") || out != "" {
			t.Errorf("%s: an engine that does not work any more: %v: %s", how, err, out)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the record of what does not work is kept", how)
		}
	}
}
