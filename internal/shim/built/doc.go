// Package built answers: which program is started for a stage of package shim, in krmcat's
// place?
//
// Command stage, as the Makefile has built it for this system before krmcat, embedded: it
// starts in half the time. It hides where that program lies, and that there is none in a
// build without make, or for a system that it is not built for.
//
// How the program is started never goes in: package sandbox does that. No program is ever
// committed.
package built
