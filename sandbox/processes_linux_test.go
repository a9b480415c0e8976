package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/sandbox"
)

// multiply starts processes until that fails, and prints their number, itself included, before
// each.
const multiply = `i=1; while :; do echo $i; sleep 1000 </dev/null >/dev/null 2>&1 & i=$((i+1)); done`

// TestProcesses checks that a function may have as many processes as its limit, itself included,
// with every engine and as every user. If PID 1 of the namespace counts too, the room for it may
// allow one more, or some more for root, to whom resource limits do not apply.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, w := range append(sandbox.AllEngines(), sandbox.Landlocked) {
		for _, current := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, as current user %t", w, current), func(t *testing.T) {
				t.Parallel()
				a := sandbox.Allow{On: host(t, w), Confine: sandbox.ConfineAuto, Host: os.Environ(), AsCurrentUser: current}
				if w == sandbox.Bubblewrap {
					sandbox.Needs(t, string(w))
				}
				if w == sandbox.Landlocked {
					a.On = sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []sandbox.Engine{}})
				}
				switch is, err := grant(t, a, sandbox.Request{HostExec: true}).Confinement(t.Context()); {
				case err != nil || is.Engine != w:
					enginetest.Missing(t, "%s: %+v, %v", w, is, err)
				case w == sandbox.Landlocked && !sandbox.Grouped(a.On, sandbox.Limits{}):
					t.Skip("NOT TESTED: without a control group Landlock limits no number of processes")
				}
				for _, n := range []int{1, 2, 3, 4, 5, 6, 40} {
					atProcesses(t, a, n)
				}
			})
		}
	}
}

// atProcesses runs a program that starts no others, and one that starts as many as it can.
func atProcesses(t *testing.T, a sandbox.Allow, n int) {
	t.Helper()
	a.Limits.Processes = n
	g := grant(t, a, sandbox.Request{HostExec: true})
	var out, stderr bytes.Buffer
	c := sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "echo alone"}, Dir: "/usr"}
	if err := g.Run(t.Context(), c, sandbox.Streams{Stdout: &out, Stderr: &stderr}); err != nil || out.String() != "alone\n" {
		t.Errorf("%d: one that starts no others: got %v, %s%s", n, err, &out, &stderr)
	}
	out.Reset()
	c.Args[1] = multiply
	err := g.Run(t.Context(), c, sandbox.Streams{Stdout: &out, Stderr: &stderr})
	had := strings.Count(out.String(), "\n")
	if code, ended := sandbox.ExitCode(err); !ended || code == 0 || had < n || had > n+sandbox.MoreProcesses() {
		t.Errorf("%d: it had %d; got %v, %s", n, had, err, &stderr)
	}
}

// TestAnyNumberOfProcesses checks that memory is counted for all processes together with a very
// high limit on processes, which the kernel would refuse.
func TestAnyNumberOfProcesses(t *testing.T) {
	t.Parallel()
	on := host(t)
	if !sandbox.Grouped(on, sandbox.Limits{}) {
		enginetest.Missing(t, "control groups are root's, or have to be handed down")
	}
	for _, n := range []int{4 << 20, 4<<20 + 1, math.MaxInt} {
		if !sandbox.Grouped(on, sandbox.Limits{Processes: n}) {
			t.Errorf("%d: there is no control group", n)
		}
	}
}

// TestProcessesOfAUser runs TestProcesses again as a user who is not root.
func TestProcessesOfAUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		enginetest.Missing(t, "this is not root already")
	}
	const somebody = 54323
	dir := t.TempDir()
	program, self := filepath.Join(dir, "sandbox.test"), filepath.Join(dir, "self")
	for to, from := range map[string]string{program: os.Args[0], self: enginetest.Self(t)} {
		data, err := os.ReadFile(from)
		if err := errors.Join(err, filetest.WriteProgram(to, data)); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, somebody, somebody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestProcesses$", "-test.v")
	cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "TMPDIR="+home, enginetest.SelfEnv(self))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestProcesses") {
		t.Fatalf("%v\n%s", err, out)
	}
}
