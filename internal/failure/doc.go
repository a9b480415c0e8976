// Package failure answers: what does an error mean to the user?
//
// A Kind is a sentinel for errors.Is, and each has one exit code. An error type declares its kind
// with a method Is; any other error is marked. With a method Details, an error type gives more than
// its text, such as a position and a hint. The package hides how a mark is stored, and how a tree
// of errors becomes a list of reports.
//
// The package does not know the numbers of exit codes, nor how errors are printed.
package failure
