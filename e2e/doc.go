// Package e2e answers: does krmcat do, as a whole, what its users rely on?
//
// Everything below drives the program from outside, as a user or an attacker would: script runs
// the files of testdata/script and testdata/kustomize; tamper changes what is published, signed
// or cached between two steps; escape tries to get out of each sandbox; process kills krmcat,
// or exchanges files, at any moment. Real registries, engines and CLIs stand beside it.
//
// What can be told of one package alone never goes in: its tests stand beside it.
package e2e
