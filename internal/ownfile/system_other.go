//go:build !linux && !darwin

package ownfile

// readOnly is not known here, and so nothing is forgiven for it.
func readOnly(string) bool { return false }

// unmapped is false: there are no user namespaces.
func unmapped(int) bool { return false }
