//go:build !unix

package bridge

// groups tells whether processes have groups that are ended as a whole.
const groups = false

// killGroup has nothing to end.
func killGroup(int) {}
