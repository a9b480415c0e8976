//go:build unix

package sandbox

import (
	"fmt"
	"os"
)

// currentUser returns the user of this process as UID:GID.
func currentUser() string { return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) }
