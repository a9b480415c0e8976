// Command stage answers: what is the smallest program that can run a stage of package shim?
//
// It runs stages as krmcat does, but links nothing else. It is started for each call of a
// function, and krmcat would take longer to initialise. The Makefile builds it for each system
// that has sandboxes. Package built embeds it, or it is joined to krmcat (docs/adr/0027).
//
// Nothing goes in but packages shim and step, which krmcat links too: it runs the stages itself
// if there is no such program.
package main
