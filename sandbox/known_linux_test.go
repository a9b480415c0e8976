package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
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

// TestRecordThatStays: the error names a record that cannot be removed, since the next command would
// rely on it again.
func TestRecordThatStays(t *testing.T) {
	t.Parallel()
	h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []Engine{Native}, CacheDir: t.TempDir()})
	h.options.program = func() *program { return &program{err: errors.New("broken")} }
	h.keep(Native)
	if engine, _, err := h.Engine(t.Context()); err != nil || engine != Native {
		t.Fatalf("the record is not used: %q, %v", engine, err)
	}
	path, _ := h.record(Native)
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "below"), 0o755)); err != nil {
		t.Fatal(err)
	}
	g, err := Allow{On: h, Confine: ConfineAuto, Host: os.Environ()}.Grant(Request{HostExec: true})
	if err != nil {
		t.Fatal(err)
	}
	err = g.Run(t.Context(), Cmd{Path: "/bin/true", Dir: "/"}, Streams{})
	if !errors.As(err, new(*UnconfinedError)) || !strings.Contains(err.Error(), "cannot be removed: remove "+path) {
		t.Errorf("%v", err)
	}
}

// TestHangingEngine: if a context ends while an engine that is relied on starts a process, the engine
// may hang. The next command tries it.
func TestHangingEngine(t *testing.T) {
	t.Parallel()
	cache, self := t.TempDir(), enginetest.Self(t)
	host := func() *Host {
		return NewHost(HostOptions{Environ: os.Environ(), Self: self, Engines: []Engine{Native}, CacheDir: cache})
	}
	if _, _, err := host().Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := host()
	if _, ok := h.recorded(Native); !ok {
		t.Fatal("there is no record")
	}
	hangs := filepath.Join(t.TempDir(), "stage")
	if err := filetest.WriteProgram(hangs, []byte("#!/bin/sh\necho started >&2\nexec sleep 60\n")); err != nil {
		t.Fatal(err)
	}
	h.options.program = func() *program { return openProgram(hangs) }
	g, err := Allow{On: h, Confine: ConfineRequire, Host: os.Environ()}.Grant(Request{HostExec: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = g.Run(ctx, Cmd{Path: "/bin/true", Dir: "/"}, Streams{Stderr: onWrite(cancel)})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("the engine did not hang: %v", err)
	}
	if _, ok := h.recorded(Native); ok {
		t.Error("the record is kept")
	}
}

// onWrite is a writer that calls the function at each write.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) { f(); return len(b), nil }
