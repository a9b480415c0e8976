// Command bench answers: how long does krmcat take, next to the kustomize CLI and to kyaml?
//
// It writes its inputs, the same on every machine, checks that krmcat and kustomize
// print the same bytes, and measures krmcat and what it is next to in turn in one run, so
// that what else the machine does falls on both. It prints medians and ratios as a table in markdown, and fails where a
// target of the design is missed only if BENCH_STRICT=1 is set.
//
// Profiles and the speed of single packages never go in: those are benchmarks of the
// packages.
package main
