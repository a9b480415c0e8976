// Package archtest answers: is the code still built as ARCHITECTURE.md says?
//
// It reads the tables on that page and every Go file of the module, for every
// operating system, and reports each import, call and alarm that the page does not
// allow. It hides how files are found, parsed and matched with a row.
//
// Rules that need types, or that a linter already has, never go in: they are in
// .golangci.yaml.
package archtest
