package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/shim/built"
)

// needsBuilt is for what needs the small program.
func needsBuilt(t *testing.T) {
	t.Helper()
	if built.Program() == nil {
		enginetest.Missing(t, "the small program of the stages: make stages")
	}
}

// TestSmallProgram has stages started from the small program, which nobody can change.
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
	for _, w := range AllWays() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w != Native {
				needs(t, string(w))
			}
			// crun and runc are tried with the program at the path, so it has to be there.
			h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Ways: []Way{w}})
			if _, _, err := h.Way(t.Context()); err != nil || !h.options.program().small {
				t.Errorf("got %+v, %v", h.options.program(), err)
			}
		})
	}
}

// TestOwnProgram has stages started from krmcat itself, in each way, where there is no small
// program or where this machine does not start it.
func TestOwnProgram(t *testing.T) {
	t.Parallel()
	garbage, err := memory([]byte("no program"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range AllWays() {
		for name, first := range map[string]*program{
			"none":    openProgram(enginetest.Self(t)),
			"refused": {file: garbage, small: true},
		} {
			t.Run(string(w)+", "+name, func(t *testing.T) {
				t.Parallel()
				if w != Native {
					needs(t, string(w))
				}
				h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Ways: []Way{w}})
				h.options.program = sync.OnceValue(func() *program { return first })
				if way, _, err := h.Way(t.Context()); err != nil || way != w || h.options.program().small {
					t.Errorf("got %q, %+v, %v", way, h.options.program(), err)
				}
			})
		}
	}
}

// TestNoProgram has it said where there is neither.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	for _, w := range AllWays() {
		h := NewHost(HostOptions{Environ: os.Environ(), Self: "/none/krmcat", Ways: []Way{w}})
		h.options.program = sync.OnceValue(func() *program { return openProgram("/none/krmcat") })
		if _, missing, err := h.Way(t.Context()); err == nil || len(missing) != 1 {
			t.Errorf("%s: got %v, %v", w, missing, err)
		}
	}
}

// inMemoryForbidden is set where a test runs again in a pid namespace in which nothing that
// is in memory may be run.
const inMemoryForbidden = "KRMCAT_TEST_IN_MEMORY_FORBIDDEN"

// TestInMemoryForbidden has vm.memfd_noexec forbid programs in memory, which some machines do.
func TestInMemoryForbidden(t *testing.T) {
	if os.Getenv(inMemoryForbidden) != "" {
		p := findProgram(enginetest.Self(t))
		if p.err != nil || p.small {
			t.Errorf("got %+v", p)
		}
		h := NewHost(HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Ways: []Way{Native}})
		if _, _, err := h.Way(t.Context()); err != nil {
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
