//go:build race

package exec_test

// underRace reports whether the race detector is enabled.
const underRace = true
