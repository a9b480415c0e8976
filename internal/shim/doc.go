// Package shim answers: what does krmcat do inside a sandbox, before a confined program?
//
// A process inside the namespaces has to do some of the confining before it becomes the program.
// That process is command stage, or krmcat under another name. If it is the first process of a
// PID namespace, it starts the program as a child instead and reports how it ended
// (docs/adr/0017, docs/adr/0027).
//
// Decisions on what a process may access never go in: package sandbox makes them and passes them
// as a Spec. Nor does anything that needs more than a few packages of the standard library.
package shim
