//go:build unix

package enginetest

import (
	"fmt"
	"syscall"
)

// podmanLimits are those of containers, where podman's own may be more than it may give.
func podmanLimits() string {
	const files, processes = 1024, 1024
	var have syscall.Rlimit
	most := uint64(files)
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &have); err == nil {
		most = min(most, uint64(have.Max)) //nolint:unconvert // it has another type elsewhere
	}
	return fmt.Sprintf("default_ulimits = [\"nofile=%d:%d\", \"nproc=%d:%d\"]\n", most, most, processes, processes)
}
