// Command stage answers: what is the least program that can do a stage of package shim?
//
// It is krmcat without krmcat: started as a stage it does that stage, and a process that is
// started for each call of a function has nothing else to initialise. The Makefile builds it
// for each system that has sandboxes: package built embeds it, or it is joined to krmcat
// (docs/adr/0027).
//
// Nothing goes in but packages shim and step: what a stage or a Step does is written there,
// once, for this program and for krmcat, which does it where there is no such program.
package main
