package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/krmcat/krmcat/internal/cli"
)

// TestInterruptedWaiting checks that the exit code is 130 if a command waits for a lock of another
// process, and that the locked file is unchanged.
func TestInterruptedWaiting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lock, changed string
		args          func(dir string) []string
	}{
		"a layout": {"store/.krmcat-lock", "store/index.json", func(dir string) []string {
			return []string{"push", "oci-layout://" + filepath.Join(dir, "store") + ":v1", filepath.Join(dir, "catalog.yaml")}
		}},
		"the config": {".config/krmcat/config.yaml.lock", ".config/krmcat/config.yaml", func(dir string) []string {
			return []string{"config", "trust", filepath.Join(dir, "catalog.yaml")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "catalog.yaml", plainCatalog)
			write(t, dir, "fn.star", "")
			held := flock.New(write(t, dir, tt.lock, ""))
			if ok, err := held.TryLock(); err != nil || !ok {
				t.Fatalf("got %t, %v", ok, err)
			}
			// Within the bubble an hour passes as soon as all goroutines wait.
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, cli.ErrInterrupted)
				defer cancel()
				code, out, errs := call(ctx, t, dir, tt.args(dir)...)
				if code != 130 || out != "" || !strings.HasSuffix("\n"+errs, "\nError: interrupted\n") || ctx.Err() == nil {
					t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, out, errs)
				}
			})
			if _, err := os.Stat(filepath.Join(dir, tt.changed)); err == nil {
				t.Errorf("%s was written", tt.changed)
			}
			if err := held.Close(); err != nil {
				t.Fatal(err)
			}
			if code, _, errs := call(t.Context(), t, dir, tt.args(dir)...); code != 0 {
				t.Errorf("once it is free: exit code %d: %s", code, errs)
			}
		})
	}
}
