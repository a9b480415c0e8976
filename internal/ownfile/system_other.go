//go:build !linux && !darwin

package ownfile

import "os"

// readOnly returns false, since this is unknown on this system: nothing is accepted because of it.
func readOnly(string) bool { return false }

// waits returns false: no file of these systems is known to block its readers.
func waits(*os.File) bool { return false }

// unmapped returns false: these systems have no user namespaces.
func unmapped(int) bool { return false }
