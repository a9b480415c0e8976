package sandbox

import (
	"errors"
	"testing"
)

// TestRefused checks that errors of engines without user namespaces are recognised. Those of
// bwrap 0.8 are from Debian 12.
func TestRefused(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.":   true,
		"bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces.": true,
		"bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)":                  true,
		"bwrap: setting up uid map: Permission denied":           true,
		"bwrap: Creating new namespace failed: Invalid argument": false,
		"bwrap: Unknown option --size":                           false,
	} {
		if got := refused(&EngineError{Engine: Bubblewrap, Err: errors.New("exit status 1"), Said: said}); got != want {
			t.Errorf("%s: got %v", said, got)
		}
	}
}
