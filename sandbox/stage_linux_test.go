package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/shim/built"
)

// needsBuilt skips a test if there is no small stage program.
func needsBuilt(t *testing.T) {
	t.Helper()
	if built.Program() == nil {
		enginetest.Missing(t, "the small program of the stages: make stages")
	}
}

// stagesOf returns the program that an engine starts as its stage.
func stagesOf(t *testing.T, e confiner) *program {
	t.Helper()
	switch e := e.(type) {
	case native:
		return e.options.program()
	case bubblewrap:
		return e.options.program()
	}
	t.Fatalf("no engine: %v", e)
	return nil
}

// hostWith returns this machine with one engine and a program for its stages.
func hostWith(t *testing.T, w Engine, p *program) *Host {
	t.Helper()
	if w != Native {
		needs(t, string(w))
	}
	h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []Engine{w}})
	h.options.program = func() *program { return p }
	return h
}

// TestSmallProgram checks that the small program is used as the stage, and cannot be changed.
func TestSmallProgram(t *testing.T) {
	t.Parallel()
	needsBuilt(t)
	p := findProgram("/none/krmcat")
	if p.err != nil || !p.small {
		t.Fatalf("got %+v", p)
	}
	if _, err := p.file.WriteAt([]byte("x"), 0); err == nil {
		t.Error("it can be written to")
	}
	if err := p.file.Truncate(0); err == nil {
		t.Error("it can be cut off")
	}
	if _, err := unix.FcntlInt(p.file.Fd(), unix.F_ADD_SEALS, 0); err == nil {
		t.Error("it is not sealed for good")
	}
	for _, w := range AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			h := hostWith(t, w, p)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := h.confiner(gone); err == nil {
				t.Error("it is tried by who has gone")
			}
			if e, err := h.confiner(t.Context()); err != nil || !stagesOf(t, e).small {
				t.Errorf("got %+v, %v", e, err)
			}
		})
	}
	whole := NewHost(HostOptions{Self: enginetest.Self(t), Whole: true})
	if p := whole.options.program(); p.small || p.err != nil {
		t.Errorf("where it is not wanted: got %+v", p)
	}
}

// garbage is a small program that does not start.
func garbage(t *testing.T) *program {
	t.Helper()
	f, err := memory("garbage", strings.NewReader("no program"), unix.MFD_EXEC)
	if err != nil {
		t.Fatal(err)
	}
	return &program{file: f, small: true}
}

// TestOwnProgram checks that krmcat is used as the stage, with each engine, if there is no small
// program or it does not start.
func TestOwnProgram(t *testing.T) {
	t.Parallel()
	for _, w := range AllEngines() {
		for name, first := range map[string]*program{"none": openProgram(enginetest.Self(t)), "refused": garbage(t)} {
			t.Run(string(w)+", "+name, func(t *testing.T) {
				t.Parallel()
				if e, err := hostWith(t, w, first).confiner(t.Context()); err != nil || stagesOf(t, e).small {
					t.Errorf("got %+v, %v", e, err)
				}
			})
		}
	}
	h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []Engine{"no-such-engine"}})
	h.options.program = sync.OnceValue(func() *program { return garbage(t) })
	var none *UnconfinedError
	if _, err := h.confiner(t.Context()); !errors.As(err, &none) || h.stages().small {
		t.Errorf("Landlock: got %+v, %v", h.stages(), err)
	}
}

// TestNoProgram checks the error if neither can be started.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	for _, w := range AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			h := hostWith(t, w, openProgram("/none/krmcat"))
			_, missing, err := h.Engine(t.Context())
			if err == nil || len(missing) != 1 || !errors.Is(missing[0].Err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/none/krmcat") {
				t.Errorf("got %v, %v", missing, err)
			}
		})
	}
	_, missing, err := hostWith(t, Native, &program{file: garbage(t).file}).Engine(t.Context())
	if err == nil || !strings.Contains(missing[0].Why(), "garbage: exec format error") {
		t.Errorf("one that does not start: got %v", missing)
	}
}

// inMemoryForbidden is set in the environment of a test that runs again in a PID namespace that
// forbids programs in memory.
const inMemoryForbidden = "KRMCAT_TEST_IN_MEMORY_FORBIDDEN"

// TestInMemoryForbidden checks that everything works with vm.memfd_noexec, which forbids
// programs in memory.
func TestInMemoryForbidden(t *testing.T) {
	if os.Getenv(inMemoryForbidden) != "" {
		p := findProgram(enginetest.Self(t))
		if p.err != nil || p.small {
			t.Errorf("got %+v", p)
		}
		h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []Engine{Native}})
		if _, _, err := h.Engine(t.Context()); err != nil {
			t.Error(err)
		}
		return
	}
	t.Parallel()
	needsBuilt(t)
	const setting = "/proc/sys/vm/memfd_noexec"
	if unix.Access(setting, unix.W_OK) != nil {
		t.Skip("NOT TESTED: " + setting + " is not there (Linux 6.3), or not to be set")
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
		`echo 2 >`+setting+` && exec "$0" "$@"`, os.Args[0], "-test.run=^TestInMemoryForbidden$", "-test.v")
	cmd.Env = append(os.Environ(), inMemoryForbidden+"=1", enginetest.SelfEnv(enginetest.Self(t)))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestInMemoryForbidden") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestDescriptors checks that a function has only its streams open: no file of a stage, and none
// with which krmcat was started.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	const inherited = 200
	fd, err := unix.FcntlInt(0, unix.F_DUPFD, inherited)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	for _, w := range append(AllEngines(), Landlocked) {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			a := Allow{Confine: ConfineAuto, Host: os.Environ()}
			if w == Landlocked {
				a.On = NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []Engine{}})
				if landlockVersion() == 0 {
					enginetest.Missing(t, "Landlock")
				}
			} else {
				a.On = hostWith(t, w, findProgram(enginetest.Self(t)))
			}
			g, err := a.Grant(Request{HostExec: true})
			if err != nil {
				t.Fatal(err)
			}
			var out, stderr bytes.Buffer
			err = g.Run(t.Context(), Cmd{Path: "/bin/ls", Args: []string{"/proc/self/fd"}, Dir: t.TempDir()}, Streams{Stdout: &out, Stderr: &stderr})
			if err != nil || out.String() != "0\n1\n2\n3\n" { // 3 is the directory that ls lists
				t.Errorf("got %q, %v, %s", &out, err, &stderr)
			}
		})
	}
}
