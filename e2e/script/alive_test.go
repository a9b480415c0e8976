//go:build !windows

package script

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// alive reports whether a process runs. A zombie does not run.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || !strings.Contains(string(status), "State:\tZ")
}
