// Package step answers: what does krmcat do when kustomize calls it back?
//
// kustomize runs a program for each run of functions: krmcat, under another name. That
// process hands the resources on its stdin to the render that listens, and prints the
// answer. For helm it runs krmcat too, which becomes helm once the render knows whom to end.
// Where krmcat was made with make for linux/amd64 a small part of its file is started for it
// (internal/shim/stage): most of what krmcat links takes longer to initialise than all that a
// step does (docs/adr/0014, docs/adr/0027).
//
// What a step does with resources never goes in, nor anything that needs more than a few
// packages of the standard library: who imports it here is waited for at every step.
package step
