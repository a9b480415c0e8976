//go:build !linux && !darwin

package ownfile

import "os"

// readOnly is not known on this system: nothing is allowed because of it.
func readOnly(string) bool { return false }

// waits is false: no file of these systems is known to block its readers.
func waits(*os.File) bool { return false }

// unmapped is false: there are no user namespaces.
func unmapped(int) bool { return false }
