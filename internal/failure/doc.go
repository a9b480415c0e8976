// Package failure answers: what does an error mean to the user?
//
// A Kind is a sentinel for errors.Is, and each has one exit code: an error type says its kind with
// a method Is, any other error is marked. What an error knows beside its text, such as its place
// and what may help, it says with a method Details. The package hides how a mark is carried, and how
// one tree of errors becomes a list of reports.
//
// Numbers of exit codes, and how errors are printed, never go in.
package failure
