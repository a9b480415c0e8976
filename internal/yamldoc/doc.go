// Package yamldoc answers: what does a YAML document say, and where?
//
// It reads text that a stranger wrote. What it returns can be walked by anybody: there are no
// aliases and no merge keys, no key stands twice, nothing is nested without end, and nothing
// has grown beyond bounds. It reads fields one by one and refuses unknown names, wrong types
// and repetitions, with path and line, and with the name that was probably meant. It hides the
// parser's ways of counting lines, its panics, and how nodes are walked.
//
// What the documents mean never goes in, nor limits on the size of a file: whoever reads the
// bytes sees to that.
package yamldoc
