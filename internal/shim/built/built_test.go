package built_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	_ "github.com/krmcat/krmcat/internal/helm" // so that go test caches no result when it changes
	_ "github.com/krmcat/krmcat/internal/shim" // the same
	"github.com/krmcat/krmcat/internal/shim/built"
)

// TestProgram checks that the embedded program is built of the current package shim. An older
// one would be tested otherwise.
func TestProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		if built.Program() != nil {
			t.Fatal("there is a program for a system that has no sandbox")
		}
		return
	}
	if built.Program() == nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this was built without the program: make stages")
		}
		t.Skip("NOT TESTED: this was built without the program: make stages")
	}
	path := filepath.Join(t.TempDir(), "stage")
	if _, err := os.ReadFile("../stage/main.go"); err != nil { // so that go test caches no result when it changes
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "../stage")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := io.ReadAll(built.Program())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, embedded) {
		t.Fatal("the program is not that of the sources as they are now: make stages")
	}
}
