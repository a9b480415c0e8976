//go:build unix

package enginetest

import (
	"fmt"
	"syscall"
)

// podmanLimits returns limits for containers that do not exceed those of this process. Podman's
// defaults may.
func podmanLimits() string {
	const files, processes = 1024, 1024
	var have syscall.Rlimit
	most := uint64(files)
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &have); err == nil {
		most = min(most, uint64(have.Max)) //nolint:unconvert // Max has another type on other systems
	}
	return fmt.Sprintf("default_ulimits = [\"nofile=%d:%d\", \"nproc=%d:%d\"]\n", most, most, processes, processes)
}
