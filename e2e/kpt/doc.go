// Package kpt answers: does krmcat make of a kpt package what kpt makes of it?
//
// It has tests only. Each archive in testdata holds a package, and what `kpt fn render` made of it:
// the exit code, stdout, stderr, the files that changed, and the file of results. testdata/make.sh
// writes them with a real kpt. The functions are this test program under another name, and programs
// of the system.
//
// Expectations written by hand never go in: what krmcat does in another way is listed in the tests,
// with the reason.
package kpt
