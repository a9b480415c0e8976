// Command krusty answers: does krmcat build what kustomize's own tests build?
//
// It copies kustomize's api module from the module cache, in the version that both programs are
// built on. It replaces some of its files by those of testdata/harness, and runs the tests of its
// package krusty twice: first they build with the kustomize CLI, then with krmcat. krmcat has to
// print the same bytes as kustomize, and to refuse what kustomize refuses. What passes with
// kustomize has to pass with krmcat, except for the tests listed in testdata/differences.txt, each
// with a reason. A listed test that passes is an error too.
//
// Targets of our own never go in: those are the tests of internal/likeness.
package main
