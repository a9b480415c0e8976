package sandbox

import "testing"

// Needs is needs for external tests.
func Needs(t testing.TB, program string) string {
	t.Helper()
	return needs(t, program)
}
