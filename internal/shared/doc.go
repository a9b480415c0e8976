// Package shared answers: which of several callers does the work that all of them ask for?
//
// One caller does the work, and the others wait for its answer, each no longer than its own context
// lasts. The package hides how callers meet, and that another caller takes over if the first one
// gives up or fails.
//
// The work itself never goes in, nor answers that outlive the process.
package shared
