package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/sandbox"
)

// everyEngine returns all engines, Landlock, and "" for unconfined.
func everyEngine() []sandbox.Engine { return append(sandbox.AllEngines(), sandbox.Landlocked, "") }

func hold(t *testing.T, name, text string) *sandbox.Program {
	t.Helper()
	p, err := sandbox.Hold(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHeldProgram checks that a held program runs with every engine, also a script, repeatedly and
// concurrently, and that nothing can change it, not even the program.
func TestHeldProgram(t *testing.T) {
	t.Parallel()
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	const body = `echo "said $1"; echo changed 2>&- >>"$0" && echo changed; cat`
	for name, tc := range map[string]struct {
		text string
		args []string
	}{
		"script":  {"#!/bin/sh\n" + body + "\n", []string{"it"}},
		"by env":  {"#!/usr/bin/env sh\n" + body + "\n", []string{"it"}},
		"program": {string(shell), []string{"-c", body, "/proc/self/exe", "it"}},
	} {
		for _, w := range everyEngine() {
			t.Run(name+" by "+string(w), func(t *testing.T) {
				t.Parallel()
				g := grant(t, heldBy(t, w), sandbox.Request{HostExec: true})
				p := hold(t, "say it", tc.text)
				dir := t.TempDir()
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() {
						var out, stderr bytes.Buffer
						err := g.Run(t.Context(), sandbox.Cmd{Program: p, Args: tc.args, Dir: dir}, sandbox.Streams{Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &stderr})
						if err != nil || out.String() != "said it\nin" {
							t.Errorf("%v, %q, %s", err, &out, &stderr)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// TestHeldPlace checks that a held program is a file in namespaces, alone in its directory, that
// neither can be written to, and that no further file is open.
func TestHeldPlace(t *testing.T) {
	t.Parallel()
	const script = `#!/bin/sh
echo "$0"; ls -A "${0%/*}"; ls -l "$0" | cut -c-10; ls -d /proc/$$/fd/[3-9]* 2>&-; touch "${0%/*}/new" 2>&- && echo new; chmod 777 "$0" 2>&- && echo open
exec 2>&- 7>"$0" && echo written
`
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			g := grant(t, heldBy(t, w), sandbox.Request{HostExec: true})
			var out bytes.Buffer
			err := g.Run(t.Context(), sandbox.Cmd{Program: hold(t, "fn", script), Dir: t.TempDir()}, sandbox.Streams{Stdout: &out})
			if _, ended := sandbox.ExitCode(err); !ended || out.String() != "/run/krmcat/fn\nfn\n-r-xr-xr-x\n" {
				t.Errorf("%v, %s", err, &out)
			}
		})
	}
}

// TestHeldNotStarted checks that the error for a held program that does not start is the usual one.
func TestHeldNotStarted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"#!/usr/none/sh\n": "starting fn: there is no /usr/none/sh, which its first line names",
		"cat\n":            "starting fn: it is neither a script with a #! line nor a program for this machine",
		"":                 "starting fn: it is neither a script with a #! line nor a program for this machine",
	} {
		for _, w := range everyEngine() {
			t.Run(text+" by "+string(w), func(t *testing.T) {
				t.Parallel()
				g := grant(t, heldBy(t, w), sandbox.Request{HostExec: true})
				err := g.Run(t.Context(), sandbox.Cmd{Program: hold(t, "fn", text), Dir: t.TempDir()}, sandbox.Streams{})
				if err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOEXEC) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestHeldWhole checks that a program is a file in a directory that is removed afterwards, if
// nothing may be started from memory, and that a file of another user is refused.
func TestHeldWhole(t *testing.T) {
	t.Parallel()
	for _, w := range everyEngine() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w == sandbox.Bubblewrap {
				sandbox.Needs(t, string(w))
			}
			a := sandbox.Allow{Confine: sandbox.ConfineAuto, Host: os.Environ(), On: sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: enginetest.Self(t), Whole: true, Engines: []sandbox.Engine{w}})}
			if w == "" {
				a.Confine = sandbox.ConfineOff
			}
			temp := t.TempDir()
			c := sandbox.Cmd{Program: hold(t, "fn", "#!/bin/sh\necho \"$0\"\n"), Dir: t.TempDir(), Temp: temp}
			var out bytes.Buffer
			err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), c, sandbox.Streams{Stdout: &out})
			if err != nil || !strings.HasSuffix(out.String(), "/fn\n") || strings.HasPrefix(out.String(), "/proc") {
				t.Errorf("%v, %s", err, &out)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			c.Temp = filepath.Join(temp, "none")
			err = grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), c, sandbox.Streams{Stdout: &out})
			if none := errors.As(err, new(*scratch.Error)); none != (w == "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestHoldNames checks that a path is not accepted as a name.
func TestHoldNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "/a", "a/"} {
		if _, err := sandbox.Hold(name, strings.NewReader("")); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
