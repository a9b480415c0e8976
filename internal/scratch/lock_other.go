//go:build !linux && !darwin

package scratch

// makeLocked returns nil: nothing is swept on this system.
func makeLocked(string) *Dir { return nil }

// makeBelow returns nil: nothing is swept on this system.
func makeBelow(string, string) *Dir { return nil }
