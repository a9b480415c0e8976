package livetest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// variable is set if the real programs run.
const variable = "KRMCAT_LIVE"

// On reports whether the real programs run.
func On() bool { return os.Getenv(variable) != "" }

// Tool returns the path of a pinned tool, bin/tools/NAME of this module. It skips the test if the
// real programs do not run, and fails it if the tool was not built.
func Tool(t testing.TB, name string) string {
	t.Helper()
	if !On() {
		t.Skipf("the real %s runs only in make check (%s=1)", name, variable)
	}
	path := filepath.Join(moduleRoot(t), "bin", "tools", name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: try make tools", err)
	}
	return path
}

// moduleRoot looks for go.mod in the directory of the package, where a test runs, and in those
// above.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in the working directory or in one above it")
		}
		dir = up
	}
}
