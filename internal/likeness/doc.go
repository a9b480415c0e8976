// Package likeness answers: does a render give byte for byte what `kustomize build` gives?
//
// It holds tests only: each target of testdata/targets is built by krmcat, and compared with what
// the kustomize CLI that is built on the same api makes of it. make live runs that CLI; make test
// reads what it made from testdata, by a hash of the target's files.
//
// Expectations written by hand never go in.
package likeness
