// Package kptfile answers: what does a Kptfile say?
//
// It decodes a Kptfile of kpt.dev/v1 or v1alpha2 with positions, reports all its errors at once,
// and refuses what kpt refuses: unknown fields above all, since a misspelt one would be silently
// ignored. It hides the versions, how exec is divided into words, and what a tag can be. It
// writes the status of a render into a Kptfile without changing anything else of it.
//
// The file system, the packages below, and what a function is never go in: the caller reads files,
// finds the file of a configPath, and decides what may run.
package kptfile
