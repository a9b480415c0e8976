package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestOtherUser checks that --user is followed or refused, for root and for other users.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			if w != sandbox.Native {
				sandbox.Needs(t, string(w))
			}
			on := host(t, w)
			if _, _, err := on.Engine(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, user := range []string{"", "0", "0:0", "1234", "1234:567", "0:567", "nobody"} {
				err := grant(t, sandbox.Allow{On: on, User: user}, sandbox.Request{Image: true}).KnownIn(t.TempDir())
				var other *sandbox.OtherUserError
				alone := os.Geteuid() == 0 && user == "0:567"
				if alone != errors.As(err, &other) || !alone && err != nil {
					t.Errorf("%q: got %v", user, err)
				}
			}
		})
	}
}

// TestRootWithoutRights checks that a program runs confined if root cannot switch to another
// user, and cannot read root's files.
func TestRootWithoutRights(t *testing.T) {
	t.Parallel()
	const asked = "KRMCAT_TEST_RIGHTS"
	rights := os.Getenv(asked)
	if rights == "" {
		if os.Geteuid() != 0 {
			enginetest.Missing(t, "who is not root has none to lose")
		}
		for lost, lacks := range map[string]string{"all": "CAP_SETUID, CAP_SETGID, CAP_SETFCAP", "setuid": "CAP_SETUID", "setgid": "CAP_SETGID", "chown": "nothing that is needed"} {
			cmd := exec.CommandContext(t.Context(), sandbox.Needs(t, "setpriv"), "--bounding-set=-"+lost, "--inh-caps=-"+lost, "--", os.Args[0], "-test.run=^TestRootWithoutRights$", "-test.v")
			cmd.Env = append(os.Environ(), asked+"="+lacks, enginetest.SelfEnv(enginetest.Self(t)))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("without %s: %v: %s", lost, err, out)
			}
			t.Logf("%s", out)
		}
		return
	}
	a := sandbox.Allow{On: host(t), Confine: sandbox.ConfineAuto, Host: os.Environ()}
	g := grant(t, a, sandbox.Request{HostExec: true})
	c, err := g.Confinement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(rights, "nothing") { // namespaces need capabilities
		if c.Engine == "" || c.Engine == sandbox.Landlocked || c.Root {
			t.Errorf("got %+v", c)
		}
		return
	}
	const why = "native: root without "
	if text := (&sandbox.UnconfinedError{Missing: c.Missing}).Error(); !strings.Contains(strings.ReplaceAll(text, ", bwrap: ", ": "), why+rights+" can make no user namespaces") || !c.Root {
		t.Errorf("got %+v, %s", c, text)
	}
	if c.Engine == "" {
		enginetest.Missing(t, "this kernel has no Landlock")
	}
	var out, stderr bytes.Buffer
	err = g.Run(t.Context(), sandbox.Cmd{Path: "/bin/sh", Args: []string{"-c", "cat /etc/hosts >/dev/null && id -u && cat /etc/shadow"}, Dir: "/usr"}, sandbox.Streams{Stdout: &out, Stderr: &stderr})
	if _, ran := sandbox.ExitCode(err); !ran || out.String() != "0\n" || !strings.Contains(stderr.String(), "ermission denied") {
		t.Errorf("got %s%s, %v", &out, &stderr, err)
	}
	a.Confine = sandbox.ConfineRequire
	if _, err := grant(t, a, sandbox.Request{HostExec: true}).Confinement(t.Context()); !errors.As(err, new(*sandbox.UnconfinedError)) {
		t.Errorf("required: got %v", err)
	}
}
