package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// BenchmarkCall measures one call of a program that does nothing, with each engine.
func BenchmarkCall(b *testing.B) {
	for _, w := range append(sandbox.AllEngines(), sandbox.Landlocked, "") {
		b.Run(string(w), func(b *testing.B) {
			a := sandbox.Allow{Confine: sandbox.ConfineAuto, Host: os.Environ()}
			engines := []sandbox.Engine{w}
			if w == sandbox.Landlocked {
				engines = []sandbox.Engine{}
			}
			a.On = sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(b), Engines: engines})
			if w == "" {
				a.Confine = sandbox.ConfineOff
			}
			g, err := a.Grant(sandbox.Request{HostExec: true})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := g.Run(b.Context(), sandbox.Cmd{Path: "/bin/true", Dir: "/usr"}, sandbox.Streams{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// victimOf is the environment variable that names the engine for a process that runs a program
// without end.
const victimOf = "KRMCAT_TEST_VICTIM_OF"

// TestKilledConfined checks that all processes of a function end with krmcat, even if it is killed,
// whatever process group and session they are in.
func TestKilledConfined(t *testing.T) {
	t.Parallel()
	if w := os.Getenv(victimOf); w != "" {
		g := grant(t, heldBy(t, sandbox.Engine(w)), sandbox.Request{HostExec: true})
		script := "trap '' TERM INT HUP; setsid sleep 1000 & echo; sleep 1000"
		t.Fatal(g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/usr"}, sandbox.Streams{Stdout: os.Stdout}))
	}
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			heldBy(t, w) // reports an engine that is missing
			out, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = out.Close() }()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledConfined$")
			cmd.Env = append(os.Environ(), victimOf+"="+string(w), enginetest.SelfEnv(enginetest.Self(t)))
			cmd.Stdout = theirs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = theirs.Close()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if err := out.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil {
				t.Errorf("somebody lives on: %q, %v", rest, err)
			}
		})
	}
}

// TestEnded checks how the end of a program is reported: by its exit code, or by a signal.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, w := range append(sandbox.AllEngines(), sandbox.Landlocked, "") {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			a := heldBy(t, w)
			if w == sandbox.Landlocked && sandbox.LandlockVersion() == 0 {
				enginetest.Missing(t, "Landlock")
			}
			for script, want := range map[string]string{
				"exit 0": "", "exit 143": "exit status 143", "exit 255": "exit status 255",
				"kill $$": "it was ended by signal 15 (terminated)", "kill -9 $$": "it was ended by signal 9 (killed)",
				"kill -34 $$": "it was ended by signal 34", "sleep 1000 & kill -6 $$": "it was ended by signal 6 (aborted)",
				"sleep 1000 >&- 2>&- & exit 5": "exit status 5", "exec 1>&-; cat >/dev/null": "",
			} {
				err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/usr"},
					sandbox.Streams{Stdin: strings.NewReader("in"), Stdout: io.Discard})
				if err == nil && want != "" || err != nil && err.Error() != want {
					t.Errorf("%s: got %v, want %s", script, err, want)
				}
				if code, ok := sandbox.ExitCode(err); ok != (want != "") || strings.Contains(want, "signal") && code != -1 {
					t.Errorf("%s: got %d, %v", script, code, ok)
				}
			}
		})
	}
}

// TestLeftInNamespace checks that a process that the program left may write until its streams are
// closed, that one which writes nothing delays no one, and that none lives on.
func TestLeftInNamespace(t *testing.T) {
	t.Parallel()
	const after = "while kill -0 $$; do sleep 0.01; done 2>/dev/null; " // the program has ended
	for _, w := range append(sandbox.AllEngines(), "") {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			a := heldBy(t, w)
			for name, c := range map[string]struct {
				script, out, stderr string
				err                 error
			}{
				"writes on":                   {script: "(" + after + "echo late; echo note >&2) &", out: "late\n", stderr: "note\n"},
				"in a session of its own":     {script: "setsid sh -c 'while kill -0 '$$'; do sleep 0.01; done 2>/dev/null; echo late' &", out: "late\n"},
				"two generations":             {script: "((" + after + "echo late) & ) &", out: "late\n"},
				"a filter":                    {script: "{ echo early; exec >&- 2>&-; } | (cat; " + after + "echo late) &", out: "early\nlate\n"},
				"holds a stream":              {script: "echo early; sleep 1000 &", out: "early\n", err: sandbox.ErrLeftBehind},
				"holds the other":             {script: "sleep 1000 >/dev/null &", err: sandbox.ErrLeftBehind},
				"has closed both":             {script: "sleep 1000 <&- >/dev/null 2>&1 &"},
				"has many children":           {script: "(exec >&- 2>&-; while :; do true & done) &"},
				"nobody, with closed streams": {script: "exec <&- >&- 2>&-"},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					var out, stderr bytes.Buffer
					err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", c.script}, Dir: "/usr"},
						sandbox.Streams{Stdin: strings.NewReader(strings.Repeat("in", 1<<20)), Stdout: &out, Stderr: &stderr})
					if !errors.Is(err, c.err) || out.String() != c.out || stderr.String() != c.stderr {
						t.Errorf("got %q, %q, %v", &out, &stderr, err)
					}
				})
			}
			t.Run("a file", func(t *testing.T) {
				t.Parallel()
				out, theirs, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = out.Close() }()
				err = grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 2>&- & echo"}, Dir: "/usr"},
					sandbox.Streams{Stdout: theirs})
				if err := errors.Join(err, theirs.Close(), out.SetReadDeadline(time.Now().Add(patience))); err != nil {
					t.Fatal(err)
				}
				if text, err := io.ReadAll(out); err != nil || string(text) != "\n" {
					t.Errorf("somebody lives on: %q, %v", text, err)
				}
			})
		})
	}
}
