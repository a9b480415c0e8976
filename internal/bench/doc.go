// Command bench answers: how long does krmcat take, compared with the kustomize CLI and with kyaml?
//
// It writes its inputs, the same on every machine, and checks that krmcat and kustomize print the
// same bytes. It runs krmcat and the other program in turn, so that other load on the machine
// affects both. It prints medians and ratios as a table in Markdown. It fails on a missed target of
// the design only if BENCH_STRICT=1 is set.
//
// Profiles and the speed of single packages never go in: those are benchmarks of the packages.
package main
