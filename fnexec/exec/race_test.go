//go:build race

package exec_test

// underRace tells that the race detector is in this program.
const underRace = true
