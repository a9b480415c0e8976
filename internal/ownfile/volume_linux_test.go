package ownfile_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// TestVolume checks that OnVolumes accepts a volume that everybody may write to, but no such
// directory below it. The test runs once more in a mount namespace, where it mounts the volume.
func TestVolume(t *testing.T) {
	t.Parallel()
	const variable = "KRMCAT_TEST_VOLUME"
	if dir := os.Getenv(variable); dir != "" {
		lay(t, dir, "d cache 0700\nd open 0777\nd open/cache 0700")
		for path, want := range map[string]bool{"cache": true, "open/cache": false} {
			path = filepath.Join(dir, path)
			_, strict := ownfile.Mine().Resolve(path)
			_, err := ownfile.Mine().OnVolumes().Resolve(path)
			if !errors.As(strict, new(*ownfile.ForeignError)) || (err == nil) != want {
				t.Errorf("%s: %v, %v", path, strict, err)
			}
		}
		return
	}
	dir := own(t)
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "--", "/bin/sh", "-c",
		`mount -t tmpfs -o mode=0777 none "$KRMCAT_TEST_VOLUME" && echo mounted && exec "$0" -test.run='^TestVolume$'`, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "mounted") {
		enginetest.Missing(t, "nothing can be mounted here: %v: %s", err, out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
