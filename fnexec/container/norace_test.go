//go:build !race

package container_test

// underRace reports whether the race detector is enabled.
const underRace = false
