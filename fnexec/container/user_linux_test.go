package container_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// somebody is the uid of a user who is not root. It needs no name.
const somebody = 54321

// TestEnginesOfAUser runs TestEngines again as another user, in a copy of this program that the
// user can read.
func TestEnginesOfAUser(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	if os.Geteuid() != 0 {
		enginetest.Missing(t, "TestEngines is that of a user already")
	}
	reg := regtest.Start(t, regtest.Options{})
	image := enginetest.Push(t, reg.Host+"/suite/function:v1", enginetest.Functions(t))
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	self := filepath.Join(dir, "container.test")
	copyProgram(t, self)
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, somebody, somebody)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestEngines$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, imageVariable+"="+image)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestEngines ") {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "NOT TESTED") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = filetest.WriteProgram(to, program)
	}
	if err != nil {
		t.Fatal(err)
	}
}
