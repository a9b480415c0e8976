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

// Missing skips a test for want of something, loudly, or ends it in continuous integration.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	msg := fmt.Sprintf(format, args...)
	if os.Getenv("CI") != "" {
		t.Fatalf("NOT TESTED: %s", msg)
	}
	t.Skipf("NOT TESTED: %s", msg)
}

// answerTimeout bounds the question whether an engine is there.
const answerTimeout = 30 * time.Second

// Docker returns the environment in which the docker program reaches a Docker Engine.
func Docker(t testing.TB) []string {
	t.Helper()
	env := os.Environ()
	answers(t, env, "docker", "version")
	return env
}

// nerdctlVariable names the program, which is not in the PATH of tests that look for none.
const nerdctlVariable = "KRMCAT_TEST_NERDCTL"

// Nerdctl returns the environment in which nerdctl is found, and reaches a containerd, and its
// path. It pulls from a registry on loopback without TLS by itself.
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

// Call calls an engine, and returns what it wrote to stdout. A call that fails ends the
// test.
func Call(t testing.TB, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) // also while cleaning up
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
