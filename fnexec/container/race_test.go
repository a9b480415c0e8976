//go:build race

package container_test

// underRace tells that the race detector is in this program.
const underRace = true
