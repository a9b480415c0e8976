// Package strict answers: does a YAML mapping hold what it should, and nothing else?
//
// It reads fields one by one and refuses unknown names, wrong types and repetitions, with
// the path and line of the first, and the name that was probably meant. It hides how nodes
// are walked.
//
// What the fields are for never goes in.
package strict
