// Package fnexectest answers: does a runtime run functions as every other does?
//
// Run is the suite that each runtime has to pass. A runtime says how it does a thing (a
// Behaviour), and what makes no sense for it, with the reason; what is expected of the
// result is said here, once.
//
// Tests of what one runtime alone has (archives, modules) never go in.
package fnexectest
