// Package shim answers: what does krmcat do where a confined process is about to be?
//
// Some of what confines a process has to be done by a process inside its namespaces,
// before the program that is confined: command stage is started there, or krmcat again,
// under another name, and becomes that program, or where it is the first process of a pid
// namespace starts it below itself and tells how it ended (docs/adr/0017, docs/adr/0027).
//
// What decides how far a process may reach never goes in: package sandbox does, and hands
// over what is to be done. Nor does anything that needs more than a few packages of the
// standard library.
package shim
