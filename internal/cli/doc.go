// Package cli answers: what did the user ask for, and what is shown of the answer?
//
// Each command is one file: flags that bind to the fields of library options, one library
// call, one printer. It hides the command line library, the environment and the wording of
// hints. wire.go is the only list of what this binary contains, errors.go the only table
// from errors to exit codes.
//
// Decisions never go in: what may run, what is trusted and how a target is built are
// answered by the packages below.
package cli
