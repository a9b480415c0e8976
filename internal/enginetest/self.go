package enginetest

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Self returns a program that can be started again inside a sandbox, as krmcat can. It is the
// program of this test, unless the race detector linked it with shared libraries that no image has.
func Self(t testing.TB) string {
	t.Helper()
	path, err := static()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var static = sync.OnceValues(buildSelf) //nolint:gochecknoglobals // built once for all tests of a program

// selfVariable passes the path of Self to a test that runs again as another user, who cannot build
// it.
const selfVariable = "KRMCAT_TEST_SELF"

// SelfEnv returns the variable with which Self returns path.
func SelfEnv(path string) string { return selfVariable + "=" + path }

func buildSelf() (string, error) {
	if path := os.Getenv(selfVariable); path != "" {
		return path, nil
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := elf.Open(own)
	if err != nil {
		return own, nil // functions are not confined on other systems
	}
	defer func() { _ = f.Close() }()
	if f.Section(".interp") == nil {
		return own, nil
	}
	dir, err := os.MkdirTemp("", "krmcat-self-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "self")
	cmd := exec.Command("go", "build", "-o", path, "github.com/krmcat/krmcat/internal/shim/stage")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, os.Chmod(dir, 0o755) // other users run the program too
}
