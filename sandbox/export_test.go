package sandbox

import "testing"

// Needs is needs, for tests from outside.
func Needs(t testing.TB, program string) string {
	t.Helper()
	return needs(t, program)
}
