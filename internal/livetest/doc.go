// Package livetest answers, for tests only: do the real programs run, and where are they?
//
// The tests compare krmcat with the kustomize, cosign and crane CLIs and with the distribution
// registry. `make check` sets KRMCAT_LIVE, and the real programs run. `make test` runs without
// them: their results are stored beside the tests, and a registry in the process of the test
// replaces the real one.
//
// No package of the krmcat program imports it.
package livetest
