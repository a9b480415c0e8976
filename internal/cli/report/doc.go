// Package report answers: how are the results of functions written for people and other programs?
//
// It is given the calls of functions as plain values, and returns the bytes of a file for a CI
// system (JSON, JUnit, SARIF), or lines for a terminal. It finds the line of a field in the file
// that a result names. It hides the shapes of these formats, and makes texts of functions safe in
// them.
//
// Whether a result fails a call never goes in, nor where the files are written.
package report
