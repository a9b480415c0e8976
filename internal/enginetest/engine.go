package enginetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Missing skips a test because something is missing, and prints what. In continuous integration it
// fails the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	msg := fmt.Sprintf(format, args...)
	if os.Getenv("CI") != "" {
		t.Fatalf("NOT TESTED: %s", msg)
	}
	t.Skipf("NOT TESTED: %s", msg)
}

// answerTimeout limits the time in which an engine has to answer.
const answerTimeout = 30 * time.Second

// Docker returns the environment in which the docker CLI reaches a Docker Engine.
func Docker(t testing.TB) []string {
	t.Helper()
	env := os.Environ()
	answers(t, env, "docker", "version")
	return env
}

// nerdctlVariable names the path of nerdctl. Tests that do not use nerdctl must not find it on the
// PATH.
const nerdctlVariable = "KRMCAT_TEST_NERDCTL"

// Nerdctl returns the environment in which nerdctl runs and reaches a containerd, and the path of
// nerdctl. Without configuration it pulls from a registry on loopback without TLS.
func Nerdctl(t testing.TB) (env []string, path string) {
	t.Helper()
	path, dir := os.Getenv(nerdctlVariable), t.TempDir()
	if path == "" {
		path = "nerdctl"
	}
	env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	answers(t, env, path, "info")
	path, err := exec.LookPath(path)
	if err == nil {
		err = os.Symlink(path, filepath.Join(dir, "nerdctl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return env, path
}

func answers(t testing.TB, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		Missing(t, "%s: %v: %s", name, err, lines[len(lines)-1])
	}
}

// Call calls an engine, and returns its stdout. A failed call ends the test.
func Call(t testing.TB, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) // also during cleanup
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
