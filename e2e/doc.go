// Package e2e answers: does krmcat do, as a whole, what its users rely on?
//
// Everything below drives the program from outside, as a user or an attacker would: script runs
// the files of testdata/script and testdata/kustomize; tamper changes what is published, signed
// or cached between two steps; escape tries to get out of each sandbox; process kills krmcat,
// or exchanges files, at any moment. Real engines run beside it, and in make live
// real registries and CLIs.
//
// What one package can be tested for alone never goes in: its tests are beside it.
package e2e
