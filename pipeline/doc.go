// Package pipeline answers: what is to be rendered, and in which order?
//
// It loads a directory (a Kustomization, a Component or a Composition), lists all functions that it
// needs, and builds it when they can be called. The packages below do the parts: source reads
// files, fnconfig reads the config of a function, composition reads a Composition, rewrite turns a
// target into the input of kustomize, and bridge runs kustomize, which calls the functions in
// krmcat (docs/adr/0028-steps-in-the-process.md). This package runs the functions, checks their
// output by their roles, and determines which function may be the cause of an error of kustomize.
//
// How a function is found, trusted or run never goes in: Build only calls the Apply that it gets.
package pipeline
