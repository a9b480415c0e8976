//go:build unix

package ownfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// TestKinds checks that opening something other than a regular file never blocks.
func TestKinds(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "kinds") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	wants := map[string]string{
		filepath.Join(dir, "pipe"): "a pipe", filepath.Join(dir, "link"): "a pipe", filepath.Join(dir, "socket"): "a socket",
		"/dev/zero": "a device", dir: "a directory",
	}
	if runtime.GOOS == "linux" {
		wants["/proc/version"] = "something else" // as is /proc/kmsg, which blocks until the kernel logs something
	}
	for path, want := range wants {
		var kind *ownfile.KindError
		if _, err := ownfile.Open(path); !errors.As(err, &kind) || kind.Kind() != want || kind.Path != path {
			t.Errorf("Open(%s): %v", path, err)
		}
		if path == "/dev/zero" {
			continue // on some systems everybody may write to it
		}
		if _, err := ownfile.Mine().Open(path); !errors.As(err, &kind) || kind.Kind() != want || kind.Path != path {
			t.Errorf("Mine().Open(%s): %v", path, err)
		}
	}
}
