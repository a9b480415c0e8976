// Package likeness answers: does a render give byte for byte what `kustomize build` gives?
//
// It holds tests only: each target of testdata/targets is built by the kustomize CLI that
// is built on the same api, and by krmcat, and the outputs are compared. The expectations
// are kustomize's own, so that nothing here can rot in agreement with a mistake.
//
// Expectations written by hand never go in.
package likeness
