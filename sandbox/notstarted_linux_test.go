package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestNotStarted checks the error for a program that exists and does not start, with every
// engine and without. The kernel's ENOENT means another file.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	dir := openToAll(t)
	for _, test := range []struct {
		name, text, want string
		err              error
	}{
		{"lines", "#!/bin/sh\r\ncat\r\n", `there is no "/bin/sh\r", since its first line ends in a carriage return, as Windows ends lines`, syscall.ENOENT},
		{"interpreter", "#! /usr/none/sh -e\n", "there is no /usr/none/sh, which its first line names", syscall.ENOENT},
		{"bare", "cat\n", "it is neither a script with a #! line nor a program for this machine", syscall.ENOEXEC},
		{"hidden", "#!" + filepath.Join(dir, "elsewhere", "sh") + "\n", "it sees no " + filepath.Join(dir, "elsewhere", "sh") + ", which its first line names", syscall.ENOENT},
	} {
		path := filepath.Join(dir, "work", test.name)
		for name, text := range map[string]string{path: test.text, filepath.Join(dir, "elsewhere", "sh"): "#!/bin/sh\n"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), filetest.WriteProgram(name, []byte(text))); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range append(sandbox.AllEngines(), sandbox.Landlocked, "") {
			if test.name == "hidden" && (w == sandbox.Landlocked || w == "") {
				continue // permission denied, or visible
			}
			t.Run(test.name+" by "+string(w), func(t *testing.T) {
				t.Parallel()
				a := heldBy(t, w)
				err := grant(t, a, sandbox.Request{HostExec: true}).Run(t.Context(), sandbox.Cmd{Path: path, Dir: filepath.Dir(path)}, sandbox.Streams{})
				if err == nil || !strings.HasSuffix(err.Error(), "starting "+path+": "+test.want) || !errors.Is(err, test.err) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
