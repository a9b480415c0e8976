// Package likeness answers: does a render give byte for byte what `kustomize build` gives?
//
// It has tests only. krmcat builds each target of testdata/targets, and the test compares the
// output with that of the kustomize CLI, which is built on the same api module. `make live` runs
// that CLI. `make test` reads its output from testdata, by a hash of the target's files.
//
// Expectations written by hand never go in.
package likeness
