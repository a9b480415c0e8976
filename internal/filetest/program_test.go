//go:build unix

package filetest_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/krmcat/krmcat/internal/filetest"
)

// TestPrograms starts programs that were just written, while other goroutines start processes.
func TestPrograms(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "/bin/true").Run()
			}
		})
	}
	path := filepath.Join(t.TempDir(), "program")
	for range 100 {
		if err := filetest.WriteProgram(path, []byte("#!/bin/sh\n")); err != nil {
			t.Fatal(err)
		}
		if err := exec.CommandContext(t.Context(), path).Run(); err != nil {
			t.Error(err)
			break
		}
	}
	cancel()
	others.Wait()
}
