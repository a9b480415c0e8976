// Command bench answers: how long does krmcat take, next to the kustomize CLI?
//
// It writes its inputs, the same on every machine, checks that both programs print the
// same bytes, and measures them in turn in one run, so that what else the machine does
// falls on both. It prints medians and ratios as a table in markdown, and fails where a
// target of the design is missed only if BENCH_STRICT=1 is set.
//
// Profiles and the speed of single packages never go in: those are benchmarks of the
// packages.
package main
