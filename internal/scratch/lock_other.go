//go:build !linux && !darwin

package scratch

// makeLocked is nil: nothing is swept here.
func makeLocked(string) *Dir { return nil }

// makeBelow is nil: nothing is swept here.
func makeBelow(string, string) *Dir { return nil }
