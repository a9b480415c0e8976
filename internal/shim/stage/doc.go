// Command stage answers: what is the least program that can do a stage of package shim?
//
// It is krmcat without krmcat: started as a stage it does that stage, and a process that is
// started for each call of a function has nothing else to initialise. The Makefile builds it
// for each system and puts it where package built embeds it.
//
// Nothing goes in but package shim: what a stage does is written there, once, for this
// program and for krmcat, which does it where there is no such program.
package main
