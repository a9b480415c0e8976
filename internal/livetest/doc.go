// Package livetest answers, for tests only: do the real programs run, and where are they?
//
// The tests compare krmcat with the kustomize, cosign and crane CLIs and with the distribution
// registry. make check sets KRMCAT_LIVE: then the real programs run. make test does without: what
// the programs made is stored beside the tests, and a registry in this process stands in for the
// real one.
//
// Nothing that a command of krmcat runs imports it.
package livetest
