package sandbox

import (
	"os/exec"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// needs returns the path of a program. If it is missing, the test is skipped, or fails where all
// programs must be installed.
func needs(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		enginetest.Missing(t, "%v", err)
	}
	return path
}
