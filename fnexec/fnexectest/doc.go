// Package fnexectest answers: does a runtime run functions as every other one does?
//
// Run is the suite that each runtime must pass. A runtime provides functions with given behaviours
// (Behaviour), and lists those that it cannot have, with the reason. The suite checks the results.
//
// Tests of features that only one runtime has (archives, modules) never go in.
package fnexectest
