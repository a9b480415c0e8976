// Package procgroup answers: which processes end together with a function, and with krmcat?
//
// It hides what each system has for that: process groups, job objects, and signals of the kernel
// when a parent ends.
//
// It starts no process. What a process may reach never goes in.
package procgroup
