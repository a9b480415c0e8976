// Command krusty answers: does krmcat build what kustomize's own tests build?
//
// It copies kustomize's api module from the module cache, at the version that both programs
// are built on, lays the files of testdata/harness over it, and runs the tests of its package
// krusty twice: once they build with the kustomize CLI, and once with krmcat, which has to
// print the bytes that kustomize prints and to refuse what kustomize refuses. What passes with
// kustomize has to pass with krmcat, but for the lines of testdata/differences.txt, each of
// which has its reason; a line that is not needed fails the run too.
//
// Trees of our own never go in: those are the tests of internal/likeness.
package main
