//go:build !linux

package sandbox

// circumstances returns "": nothing is recorded.
func circumstances() string { return "" }
