// Package built answers: which program is started for a stage of package shim, in place of krmcat?
//
// It embeds command stage, which the Makefile builds before krmcat and which starts in half the
// time. It hides where that program is, and that there is none in a build without make or for
// another system.
//
// How the program is started never goes in: package sandbox does that. The program is not
// committed.
package built
