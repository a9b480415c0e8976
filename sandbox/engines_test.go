package sandbox

import (
	"os"
	"os/exec"
	"testing"
)

// needs returns the path of a program. If it is missing, the test is skipped, or fails where all
// programs must be installed.
func needs(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("THERE IS NO %s ON THIS MACHINE, and CI is set", program)
	default:
		t.Skipf("NOT TESTED: there is no %s on this machine", program)
	}
	return ""
}
