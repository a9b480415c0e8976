package regtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gofrs/flock"
)

// binaryEnv names a registry binary to use in place of the one built here.
const binaryEnv = "KRMCAT_TEST_REGISTRY"

const distribution = "github.com/distribution/distribution/v3/cmd/registry"

// Binary returns the path of the distribution registry: $KRMCAT_TEST_REGISTRY, else
// bin/tools/registry of this module, which is built at the version pinned in
// internal/tools/registry where it is missing. It ends the test where that fails.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(binaryEnv); path != "" {
		return path
	}
	root := moduleRoot(t)
	path := filepath.Join(root, "bin", "tools", "registry")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("making a place for the registry binary: %v", err)
	}
	// Test binaries of several packages may get here at the same time.
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatalf("waiting for the registry binary: %v", err)
	}
	defer lock.Close()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		build(t, filepath.Join(root, "internal", "tools", "registry"), path)
	}
	return path
}

func build(t testing.TB, module, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-C", module, "-o", path+".new", distribution)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the registry: %v\n%s", err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatalf("building the registry: %v", err)
	}
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
