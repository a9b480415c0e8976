//go:build unix

package sandbox

import (
	"fmt"
	"os"
)

// currentUser is who we are, as engines take it.
func currentUser() string { return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) }
