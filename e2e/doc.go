// Package e2e answers: does krmcat do, as a whole, what its users rely on?
//
// Everything below runs the program from outside, as a user or an attacker does. Package script
// runs the files of testdata/script and testdata/kustomize. Package tamper changes what is
// published, signed or cached between two steps. Package escape tries to get out of each sandbox.
// Package process kills krmcat, or replaces files, at any moment. Package kpt renders the packages
// that kpt rendered. Some tests also run real engines, and `make live` runs real registries and
// CLIs.
//
// What can be tested in one package alone never goes in: that package has the test.
package e2e
