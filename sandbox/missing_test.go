package sandbox

import (
	"errors"
	"testing"

	"github.com/krmcat/krmcat/internal/install"
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

// TestNamespaceHints: what allows user namespaces depends on what forbids them.
func TestNamespaceHints(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*NamespaceError{
		"run krmcat as another user than root, or with CAP_SETUID, CAP_SYS_ADMIN": {Lacks: []string{"CAP_SETUID", "CAP_SYS_ADMIN"}},
		install.AsRoot("sysctl -w user.max_user_namespaces=15000"):                {Setting: "user.max_user_namespaces", Now: "0", Enough: "15000"},
		"allow user namespaces: docs/sandbox.md#where-it-runs":                    {},
	} {
		if got := err.Try(); got != want {
			t.Errorf("%+v: try %q, want %q", err, got, want)
		}
	}
}
