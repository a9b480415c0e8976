package exec_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/fnexectest"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/sandbox"
)

// notUnderRace skips tests in other processes, which the race detector does not see and slows
// down ten times.
func notUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("NOT TESTED by the race detector: what goes on is in other processes, which the race detector does not see")
	}
}

// TestSuiteConfined runs the suite with each engine.
func TestSuiteConfined(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	for _, engine := range sandbox.AllEngines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			h := sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []sandbox.Engine{engine}})
			if _, _, err := h.Engine(t.Context()); err != nil {
				enginetest.Missing(t, "%v", err)
			}
			fnexectest.Run(t, fnexectest.Suite{Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
				allow.On, allow.Confine = h, sandbox.ConfineRequire
				return loadInPlace(t, b, allow)
			}})
		})
	}
}

// TestSuiteLandlocked runs the suite with Landlock alone.
func TestSuiteLandlocked(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	h := sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Engines: []sandbox.Engine{}})
	fnexectest.Run(t, fnexectest.Suite{Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
		allow.On, allow.Confine = h, sandbox.ConfineAuto
		g, err := allow.Grant(sandbox.Request{HostExec: true})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := g.Confinement(t.Context()); err != nil || c.Engine != sandbox.Landlocked {
			enginetest.Missing(t, "Landlock: %+v, %v", c, err)
		}
		return loadInPlace(t, b, allow)
	}})
}

// TestSuiteOfAUser runs both again as a user who is not root.
func TestSuiteOfAUser(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	if os.Geteuid() != 0 {
		enginetest.Missing(t, "this is not root already")
	}
	const somebody = 54321
	dir := t.TempDir()
	program, self, home := filepath.Join(dir, "exec.test"), filepath.Join(dir, "self"), filepath.Join(dir, "home")
	for to, from := range map[string]string{program: os.Args[0], self: enginetest.Self(t)} {
		data, err := os.ReadFile(from)
		if err := errors.Join(err, filetest.WriteProgram(to, data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, somebody, somebody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestSuite(Confined|Landlocked)$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, enginetest.SelfEnv(self))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSuiteConfined") || !strings.Contains(string(out), "--- PASS: TestSuiteLandlocked") {
		t.Fatalf("%v\n%s", err, out)
	}
}
