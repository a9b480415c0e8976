// Package annotation answers: what do an orchestrator and a function tell each other in the
// annotations of a resource?
//
// It has the names of these annotations, the current and the legacy ones, the path of a resource
// that has no file yet, and removes the annotations before a resource reaches a file or a reader.
//
// The files never go in, nor the ids by which items of input and output are matched.
package annotation
