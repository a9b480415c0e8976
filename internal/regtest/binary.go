package regtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gofrs/flock"
)

// binaryEnv names a registry binary to use in place of the one built here.
const binaryEnv = "KRMCAT_TEST_REGISTRY"

// Binary returns the path of the distribution registry: $KRMCAT_TEST_REGISTRY, else the
// Tool of that name. It ends the test where that fails.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(binaryEnv); path != "" {
		return path
	}
	return Tool(t, "registry")
}

// Tool returns the path of a pinned tool, bin/tools/NAME of this module, which is built at
// the version of internal/tools/NAME where it is missing. It ends the test where that fails.
func Tool(t testing.TB, name string) string {
	t.Helper()
	root := moduleRoot(t)
	path := filepath.Join(root, "bin", "tools", name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("making a place for %s: %v", name, err)
	}
	// Test binaries of several packages may get here at the same time.
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatalf("waiting for %s: %v", name, err)
	}
	defer lock.Close()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		build(t, filepath.Join(root, "internal", "tools", name), path)
	}
	return path
}

// build builds the one tool of a module.
func build(t testing.TB, module, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-C", module, "-trimpath", "-buildvcs=false", "-o", path+".new", toolOf(t, module))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", path, err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatalf("building %s: %v", path, err)
	}
}

// toolOf is the package that a module's go.mod names as its tool.
func toolOf(t testing.TB, module string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if tool, ok := strings.CutPrefix(strings.TrimSpace(line), "tool "); ok {
			return tool
		}
	}
	t.Fatalf("%s names no tool", module)
	return ""
}

// moduleRoot looks upwards for this module's go.mod: a test runs in its package's folder.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "internal", "tools", "registry", "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatalf("no module root above the working directory; set %s", binaryEnv)
		}
		dir = up
	}
}
