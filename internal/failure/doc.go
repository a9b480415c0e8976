// Package failure answers: what does an error mean to the user?
//
// A Kind is a sentinel for errors.Is, and each has one exit code; an error type says its kind with
// a method Is, any other error is marked. It hides how a mark is carried, and how the errors of a
// tree are put in order.
//
// Numbers of exit codes, and how errors are printed, never go in.
package failure
